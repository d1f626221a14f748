import { formatAddress, parseAddress, type Family } from '../../net/address.ts';
import { tunnelOverhead } from '../../net/direct-return.ts';
import { DataplaneError } from '../dataplane.ts';
import { routeProtocol } from '../routes/unreachable-routes.ts';
import { runCommand, type CommandOutcome } from '../run-command.ts';
import { preferences, tunnelIdentity, tunnelIndex, tunnelName, tunnelPrefix } from '../ruleset/direct-return-identity.ts';
import { commandTimeout, maximumOutputBytes } from './limits.ts';
import { tunnelText, type PathItem, type PathTable } from './paths.ts';

const families: readonly Family[] = [4, 6];

/** Errors of the kernel that mean that the desired state already exists. */
const alreadyDone = /No such process|No such file|File exists|FIB table does not exist|Cannot find device/;

/** The MTU assumed below a tunnel when that of the underlying link is unknown: Ethernet's. */
const usualMtu = 1500;

/** Manages paths with `ip` and `bridge` of iproute2, in the network namespace of this process or through a command prefix. */
export function ipPaths(commandPrefix: readonly string[] = []): Omit<PathTable, 'hasTunnel'> {
  const run = async (words: readonly string[], input = ''): Promise<CommandOutcome> => {
    const [first = '', ...others] = [...commandPrefix, ...words];
    return await runCommand([first, ...others], input, { timeout: commandTimeout, outputBytes: maximumOutputBytes });
  };
  const listed = async (...words: string[]): Promise<Listed[]> => {
    const outcome = await run(words);
    if (outcome.status !== 0 && !alreadyDone.test(outcome.stderr) && !/does not exist/.test(outcome.stderr)) throw errorOf(outcome);
    const read: unknown = outcome.stdout.trim() === '' ? [] : JSON.parse(outcome.stdout);
    // ip prints an empty object for each entry that it has filtered out.
    return Array.isArray(read) ? (read as Listed[]).filter((each) => Object.keys(each).length > 0) : [];
  };
  /** Runs every line, also after errors. Undefined: all lines succeeded or their state already existed. */
  const change = async (words: readonly string[], lines: readonly string[]): Promise<DataplaneError | undefined> => {
    if (lines.length === 0) return undefined;
    const outcome = await run([...words, '-force', '-batch', '-'], `${lines.join('\n')}\n`);
    const problems = outcome.stderr
      .split('\n')
      .filter((line) => /^(RTNETLINK|Error|Cannot|Operation)/.test(line) && !alreadyDone.test(line));
    return problems.length === 0 ? undefined : errorOf({ ...outcome, stderr: problems.join('; ') });
  };
  const mtuBelow = async (family: Family, local: string): Promise<number> => {
    const links = await listed('ip', '-j', `-${family}`, 'addr', 'show', 'to', local);
    const mtu = links.find(({ flags }) => Array.isArray(flags) && !flags.includes('LOOPBACK'))?.mtu;
    return (mtu ?? usualMtu) - tunnelOverhead[family];
  };
  return {
    async list() {
      const items: PathItem[] = [];
      for (const family of families) {
        const device = tunnelName(family);
        const [tunnel] = await listed('ip', '-j', '-d', 'link', 'show', 'dev', device);
        if (tunnel !== undefined) {
          items.push({ kind: 'tunnel', family, text: tunnelOf(family, tunnel) });
          for (const { mac, dst } of await listed('bridge', '-j', 'fdb', 'show', 'dev', device))
            if (dst !== undefined) items.push({ kind: 'fdb', family, text: `${mac} dev ${device} dst ${dst}` });
          for (const { dst, lladdr } of await listed('ip', '-j', '-N', `-${family}`, 'neigh', 'show', 'dev', device, 'nud', 'permanent'))
            items.push({ kind: 'neigh', family, text: `${dst} lladdr ${lladdr} dev ${device} nud permanent` });
        }
        const ours = ['table', 'all', 'proto', String(routeProtocol)];
        for (const route of await listed('ip', '-j', '-N', `-${family}`, 'route', 'show', ...ours)) {
          const text = routeOf(route);
          if (text !== undefined) items.push({ kind: 'route', family, text });
        }
        for (const rule of await listed('ip', '-j', '-N', `-${family}`, 'rule', 'show')) {
          const text = ruleOf(rule);
          if (text !== undefined) items.push({ kind: 'rule', family, text });
        }
      }
      return items;
    },
    async change(add, remove) {
      const problems: (DataplaneError | undefined)[] = [];
      const of = (items: readonly PathItem[], family: Family, ...kinds: PathItem['kind'][]): PathItem[] =>
        items.filter((item) => item.family === family && kinds.includes(item.kind));
      for (const family of families) {
        const ip = ['ip', `-${family}`];
        problems.push(await change(ip, of(remove, family, 'rule', 'route', 'neigh').map(removalOf)));
        problems.push(await change(['bridge'], of(remove, family, 'fdb').map(removalOf)));
        problems.push(await change(ip, of(remove, family, 'tunnel').map(removalOf)));
        for (const { text } of of(add, family, 'tunnel')) {
          const device = tunnelName(family);
          const mtu = await mtuBelow(family, /local (\S+)/.exec(text)?.[1] ?? '');
          problems.push(await change(ip, [`link add ${text}`, `link set dev ${device} mtu ${mtu} up`]));
        }
        problems.push(
          await change(
            ['bridge'],
            of(add, family, 'fdb').map(({ text }) => `fdb replace ${text}`),
          ),
        );
        problems.push(await change(ip, of(add, family, 'neigh', 'route', 'rule').map(additionOf)));
      }
      const first = problems.find((problem) => problem !== undefined);
      if (first !== undefined) throw first;
    },
  };
}

/** The fields of an object printed by ip and bridge that are read here. */
interface Listed {
  readonly flags?: readonly string[];
  readonly mtu?: number;
  readonly address?: string;
  readonly linkinfo?: {
    readonly info_kind?: string;
    readonly info_data?: {
      readonly id?: number;
      readonly port?: number;
      readonly local?: string;
      readonly local6?: string;
      readonly learning?: boolean;
    };
  };
  readonly mac?: string;
  readonly dst?: string;
  readonly lladdr?: string;
  readonly gateway?: string;
  readonly dev?: string;
  readonly table?: string;
  readonly priority?: number;
  readonly fwmark?: string;
  readonly fwmask?: string;
  readonly not?: null;
  readonly iif?: string;
  readonly oif?: string;
  readonly ifindex?: number;
  readonly goto?: number;
  readonly action?: string;
  readonly nop?: null;
  readonly protocol?: string;
}

/** Returns the text of a tunnel. Another device of that name gets a text that no plan contains, so it is removed. */
function tunnelOf(family: Family, { address = '', linkinfo, flags, ifindex }: Listed): string {
  const { id, port, local, local6, learning } = linkinfo?.info_data ?? {};
  const text = tunnelText(family, address, canonical(local ?? local6 ?? ''));
  const isNumbered = id === tunnelIdentity && ifindex === tunnelIndex(family);
  const asOurs = linkinfo?.info_kind === 'vxlan' && isNumbered && text.includes(`dstport ${port} `) && learning === false;
  return asOurs && flags?.includes('UP') === true ? text : `${tunnelName(family)} of another kind`;
}

/** Our routes to nodes are in tables whose number has the highest octet of our marks. Unreachable routes are not. */
function routeOf({ dst, gateway = '', dev = '', table = '', flags }: Listed): string | undefined {
  if (dst !== 'default' || Number(table) >>> 24 !== 0x68) return undefined;
  const throughTunnel = dev.startsWith(tunnelPrefix) ? ` dev ${dev}${flags?.includes('onlink') === true ? ' onlink' : ''}` : '';
  const via = gateway === '' ? '' : ` via ${canonical(gateway)}`;
  return `default${via}${throughTunnel} table ${table} protocol ${routeProtocol}`;
}

function ruleOf(rule: Listed): string | undefined {
  const { priority = 0, fwmark = '', fwmask, table = '', protocol } = rule;
  if (protocol !== String(routeProtocol) || priority < preferences.copies || priority > preferences.end) return undefined;
  const masked = fwmask === undefined ? fwmark : `${fwmark}/${fwmask}`;
  const words = [
    `pref ${priority}`,
    ...('not' in rule ? ['not'] : []),
    ...(rule.iif === undefined ? [] : [`iif ${rule.iif}`]),
    ...(rule.oif === undefined ? [] : [`oif ${rule.oif}`]),
    ...(fwmark === '' ? [] : [`fwmark ${masked}`]),
    ...(rule.goto === undefined ? [] : [`goto ${rule.goto}`]),
    ...(table === '' ? [] : [`lookup ${table}`]),
    // FR_ACT_BLACKHOLE of linux/fib_rules.h, which ip -N prints by its number.
    ...(rule.action === '6' || rule.action === 'blackhole' ? ['blackhole'] : []),
    ...('nop' in rule ? ['nop'] : []),
    `protocol ${protocol}`,
  ];
  return words.join(' ');
}

function additionOf({ kind, text }: PathItem): string {
  return `${kind} ${kind === 'rule' ? 'add' : 'replace'} ${text}`;
}

function removalOf({ kind, text }: PathItem): string {
  const [name = ''] = text.split(' ');
  switch (kind) {
    case 'tunnel':
      return `link del dev ${name}`;
    case 'neigh':
      return `neigh del ${name} dev ${/dev (\S+)/.exec(text)?.[1] ?? ''}`;
    case 'fdb':
    case 'route':
    case 'rule':
      return `${kind} del ${text}`;
  }
}

/** Returns an address in our text form. */
function canonical(text: string): string {
  const address = parseAddress(text);
  return address.ok ? formatAddress(address.value) : text;
}

function errorOf(outcome: CommandOutcome): DataplaneError {
  const text = outcome.stderr.trim().slice(0, 500) || `ip ended with status ${outcome.status}`;
  return new DataplaneError(/Operation not permitted/.test(text) ? 'permission' : 'failed', text);
}
