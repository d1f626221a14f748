import { dockerBridge, type FilterAction, type FilterRule, type HostFilter, type PortRange } from '../../net/host-filter.ts';
import { parsePrefix } from '../../net/prefix.ts';

const hooks = { FORWARD: 'forward', INPUT: 'input' } as const;

/**
 * Reads the output of `iptables-legacy -t filter -S`: the arguments that would create the table. Returns one filter each for FORWARD and
 * INPUT.
 */
export function readLegacyTable(text: string, family: 'ip' | 'ip6'): HostFilter[] {
  const policies = new Map<string, HostFilter['policy']>();
  const chains = new Map<string, FilterRule[]>();
  for (const line of text.split('\n')) {
    const [verb, chain = '', ...rest] = line.trim().split(/\s+/);
    if (verb === '-P') policies.set(chain, rest[0] === 'DROP' ? 'drop' : 'accept');
    if (verb === '-A') chains.set(chain, [...(chains.get(chain) ?? []), readRule(rest)]);
  }
  return (['FORWARD', 'INPUT'] as const).flatMap((chain): HostFilter[] => {
    const policy = policies.get(chain);
    return policy === undefined ? [] : [{ hook: hooks[chain], backend: 'iptables', family, table: 'filter', chain, policy, chains }];
  });
}

const verdicts: Readonly<Record<string, FilterAction>> = {
  ACCEPT: { kind: 'accept' },
  DROP: { kind: 'drop' },
  REJECT: { kind: 'reject' },
  RETURN: { kind: 'return' },
};

/** Targets after which the packet continues with the next rule. */
const passive = new Set(['LOG', 'NFLOG', 'MARK', 'CONNMARK', 'TCPMSS', 'TRACE', 'ULOG', 'AUDIT', 'DSCP', 'CLASSIFY', 'SECMARK']);

function readRule(args: readonly string[]): FilterRule {
  const at = args.findIndex((arg) => arg === '-j' || arg === '-g');
  const packets = packetsOf(withoutComment(at < 0 ? args : args.slice(0, at)));
  const target = args[at + 1];
  if (at < 0 || target === undefined || passive.has(target)) return { packets, action: { kind: 'none' } };
  return { packets, action: verdicts[target] ?? { kind: args[at] === '-g' ? 'goto' : 'jump', chain: target } };
}

function packetsOf(conditions: string): FilterRule['packets'] {
  if (conditions === '') return 'all';
  if (conditions === '-m conntrack --ctstate DNAT') return 'translated';
  if (isOthers(conditions)) return 'others';
  const destination = /^-d (\S+)$/.exec(conditions)?.[1];
  const prefix = destination === undefined ? undefined : parsePrefix(destination);
  if (prefix?.ok === true) return { to: [prefix.value] };
  const rest = conditions.replace(/ ?-m (?:conntrack --ctstate|state --state) (?:\w+,)*NEW(?:,\w+)*/, '').trim();
  const [, single, several] = /^-p tcp (?:-m tcp --dport (\S+)|-m multiport --dports (\S+))$/.exec(rest) ?? [];
  const ranges = (single ?? several)?.split(',').map((range): PortRange => {
    const [first, last = first] = range.split(':').map(Number);
    return { first: first ?? 0, last: last ?? 0 };
  });
  return ranges ?? 'some';
}

/** True for packets of known connections only, and for those on a bridge of Docker. */
function isOthers(conditions: string): boolean {
  const [, states] = /(?:^| )(?<!! )--(?:ctstate|state) (\S+)/.exec(conditions) ?? [];
  if (states?.split(',').every((state) => ['ESTABLISHED', 'RELATED', 'INVALID'].includes(state)) === true) return true;
  return [...conditions.matchAll(/(?<!! )-[io] (\S+)/g)].some(([, name = '']) => dockerBridge.test(name));
}

function withoutComment(args: readonly string[]): string {
  return args
    .join(' ')
    .replaceAll(/-m comment --comment (?:"(?:[^"\\]|\\.)*"|\S+) ?/g, '')
    .trim();
}
