import { allowanceChain, type Allowance, type AllowanceChange } from '../../net/host-filter.ts';
import { familyOf, formatPrefix, type Prefix } from '../../net/prefix.ts';
import { DataplaneError } from '../dataplane.ts';
import { runCommand, type CommandOutcome } from '../run-command.ts';
import { limits } from './limits.ts';
import { entries, record } from './nft-json.ts';

type Run = (command: readonly string[], input: string) => Promise<CommandOutcome>;

/**
 * Changes Herald's rules in tables of other programs, each table in one transaction: with the nft command, or that of iptables where
 * iptables made the table. Returns the errors of the changes that failed.
 */
export async function changeAllowances(
  changes: readonly AllowanceChange[],
  commandPrefix: readonly string[] = [],
): Promise<readonly string[]> {
  const run: Run = async (command, input) => {
    const [first = '', ...others] = [...commandPrefix, ...command];
    return runCommand([first, ...others], input, { timeout: limits.commandTimeout, outputBytes: limits.outputBytes });
  };
  const errors: string[] = [];
  for (const change of changes) {
    const { filter, by } = change;
    const place = `table ${filter.family} ${filter.table} (${by})`;
    try {
      const { status, stderr } = by === 'nft' ? await changeByNft(change, run) : await run(restoreCommand(change), restoreInput(change));
      if (status !== 0) errors.push(`${place}: ${stderr.trim().slice(0, errorLength)}`);
    } catch (error) {
      if (!(error instanceof DataplaneError)) throw error;
      errors.push(`${place}: ${error.message}`);
    }
  }
  return errors;
}

/** Characters of the output of a command that an error repeats. */
const errorLength = 300;

const restoreCommand = ({ filter: { family }, by }: AllowanceChange): string[] => [
  `${family === 'ip6' ? by.replace('iptables', 'ip6tables') : by}-restore`,
  '-w',
  '5',
  '--noflush',
];

/** Returns the input of iptables-restore. Declaring a chain empties it. */
function restoreInput({ from, to }: AllowanceChange): string {
  const lines = [
    `:${allowanceChain} - [0:0]`,
    ...from.map((chain) => `-D ${chain} -j ${allowanceChain}`),
    ...(to === undefined ? [`-X ${allowanceChain}`] : [...iptablesRules(to.allowance), `-I ${to.chain} -j ${allowanceChain}`]),
  ];
  return ['*filter', ...lines, 'COMMIT', ''].join('\n');
}

/** The rules have the words of the printed fix. Replies of pods have no translation here where another node has translated. */
function iptablesRules({ translated, pods }: Allowance): string[] {
  const append = `-A ${allowanceChain}`;
  const rules = pods
    .map(formatPrefix)
    .flatMap((pod) => [`${append} -d ${pod} -j ACCEPT`, `${append} -s ${pod} -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT`]);
  return [...(translated ? [`${append} -m conntrack --ctstate DNAT -j ACCEPT`] : []), ...rules];
}

/** Commands in JSON (libnftables-json(5)), because names of tables and chains may be words of nft. */
async function changeByNft({ filter: { family, table }, from, to }: AllowanceChange, run: Run): Promise<CommandOutcome> {
  const place = { family, table };
  const own = { chain: { ...place, name: allowanceChain } };
  const jumps: unknown[] = [];
  for (const chain of from) {
    const listed = await run(['nft', '-j', 'list', 'chain', family, table, chain], '');
    if (listed.status !== 0) return listed;
    for (const handle of jumpsIn(JSON.parse(listed.stdout))) jumps.push({ delete: { rule: { ...place, chain, handle } } });
  }
  const rule = (chain: string, expr: readonly unknown[]): unknown => ({ rule: { ...place, chain, expr } });
  const jump = { jump: { target: allowanceChain } };
  const commands = [
    { add: own },
    ...jumps,
    { flush: own },
    ...(to === undefined
      ? [{ delete: own }]
      : [...nftRules(to.allowance).map((expr) => ({ add: rule(allowanceChain, expr) })), { insert: rule(to.chain, [jump]) }]),
  ];
  // As an argument: nft opens a file for JSON from the standard input, which fails for a socket. A node has few prefixes of pods.
  return run(['nft', '-j', JSON.stringify({ nftables: commands })], '');
}

/** Returns the handles of the rules that lead to Herald's chain. */
function jumpsIn(json: unknown): unknown[] {
  return entries(json).flatMap((entry) => {
    const { expr, handle } = record(record(entry)['rule']);
    const jumps = (Array.isArray(expr) ? expr : []).some((each) => record(record(each)['jump'])['target'] === allowanceChain);
    return jumps ? [handle] : [];
  });
}

function nftRules({ translated, pods }: Allowance): unknown[][] {
  const accept = { accept: null };
  const isTranslated = { match: { op: 'in', left: { ct: { key: 'status' } }, right: 'dnat' } };
  const known = { match: { op: 'in', left: { ct: { key: 'state' } }, right: ['established', 'related'] } };
  const rules = pods.flatMap((pod) => [
    [addressMatch('daddr', pod), accept],
    [addressMatch('saddr', pod), known, accept],
  ]);
  return [...(translated ? [[isTranslated, accept]] : []), ...rules];
}

function addressMatch(field: 'daddr' | 'saddr', pod: Prefix): unknown {
  const [addr = ''] = formatPrefix(pod).split('/');
  const left = { payload: { protocol: familyOf(pod) === 4 ? 'ip' : 'ip6', field } };
  return { match: { op: '==', left, right: { prefix: { addr, len: pod.length } } } };
}
