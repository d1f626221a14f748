import { parseAddress } from '../../net/address.ts';
import {
  allowanceChain,
  dockerBridge,
  type FilterAction,
  type FilterRule,
  type HostFilter,
  type PortRange,
} from '../../net/host-filter.ts';
import { hostPrefix, maskedPrefix, type Prefix } from '../../net/prefix.ts';
import { entries, portRange, record, type NftRecord } from './nft-json.ts';

/** Reads nft's JSON (libnftables-json(5)), as far as it decides about packets of Services and packets to the node. */

export type BaseChain = Omit<HostFilter, 'chains'> & { readonly backend: 'nft' };

/** Reads `nft -j list chains`. Returns the base chains that filter forwarded or incoming IP packets, except those of `ownTable`. */
export function filterChains(json: unknown, ownTable: string): BaseChain[] {
  return entries(json).flatMap((entry): BaseChain[] => {
    const { family, table, name, type, hook, policy } = record(record(entry)['chain']);
    if ((hook !== 'forward' && hook !== 'input') || type !== 'filter' || table === ownTable) return [];
    if ((family !== 'ip' && family !== 'ip6' && family !== 'inet') || typeof table !== 'string' || typeof name !== 'string') return [];
    return [{ hook, backend: 'nft', family, table, chain: name, policy: policy === 'drop' ? 'drop' : 'accept' }];
  });
}

/** Reads the rules of one chain from `nft -j list chain`. */
export function rulesOf(json: unknown): FilterRule[] {
  return entries(json).flatMap((entry) => {
    const { expr, chain } = record(record(entry)['rule']);
    return Array.isArray(expr) ? [readRule(expr, chain === allowanceChain)] : [];
  });
}

const ofTranslated = { op: 'in', left: { ct: { key: 'status' } }, right: 'dnat' };

/** Statements that neither select packets nor decide about them. */
const passive = new Set(['counter', 'log', 'mangle', 'comment', 'notrack', 'ct helper', 'meta']);

/** `isOwn`: Herald has the rule in a table of iptables, whose extensions nft prints without their arguments. */
function readRule(expressions: readonly unknown[], isOwn: boolean): FilterRule {
  const conditions: unknown[] = [];
  for (const expression of expressions) {
    const [[name, value] = ['', undefined]] = Object.entries(record(expression));
    const action = readAction(name, value);
    if (action !== undefined) return { packets: packetsOf(conditions), action };
    const extension = name === 'xt' ? record(value)['name'] : undefined;
    if (isOwn && extension === 'conntrack' && conditions.length === 0) conditions.push(ofTranslated);
    else if (!passive.has(name) && extension !== 'comment') conditions.push(name === 'match' ? value : undefined);
  }
  return { packets: packetsOf(conditions), action: { kind: 'none' } };
}

/** `conditions`: the values of `match`, undefined for any other statement. */
function packetsOf(conditions: readonly unknown[]): FilterRule['packets'] {
  if (conditions.length === 0) return 'all';
  const matches = conditions.map(record);
  if (matches.length === 1 && matches.every(isTranslated)) return 'translated';
  if (matches.some((match) => isEstablished(match) || isOfDocker(match))) return 'others';
  const [destinations] = matches.length === 1 ? matches.map(destinationsOf) : [];
  if (destinations !== undefined) return { to: destinations };
  const ports = matches.map(tcpPorts);
  const [range, ...others] = ports.filter((each) => each !== undefined);
  const rest = matches.filter((_, index) => ports[index] === undefined);
  return range !== undefined && others.length === 0 && rest.every((match) => isTcp(match) || isNew(match)) ? range : 'some';
}

function readAction(name: string, value: unknown): FilterAction | undefined {
  if (name === 'accept' || name === 'drop' || name === 'reject' || name === 'return') return { kind: name };
  const { target, type, name: extension } = record(value);
  // iptables on nf_tables uses its own REJECT extension.
  if (name === 'xt' && type === 'target' && extension === 'REJECT') return { kind: 'reject' };
  return (name === 'jump' || name === 'goto') && typeof target === 'string' ? { kind: name, chain: target } : undefined;
}

/** Returns the values with which a match compares this property of a connection. Undefined: another match. */
function connectionValues({ op, left, right }: NftRecord, property: 'status' | 'state'): readonly unknown[] | undefined {
  if (record(record(left)['ct'])['key'] !== property || (op !== 'in' && op !== '==')) return undefined;
  return Array.isArray(right) ? right : [right];
}

/** Matches "ct status dnat". */
const isTranslated = (match: NftRecord): boolean => connectionValues(match, 'status')?.includes('dnat') === true;

/** Returns the prefixes of "ip daddr" or "ip6 daddr". Undefined: another match, or a set that has a name or a range. */
function destinationsOf({ op, left, right }: NftRecord): readonly Prefix[] | undefined {
  const { protocol, field } = record(record(left)['payload']);
  if (op !== '==' || (protocol !== 'ip' && protocol !== 'ip6') || field !== 'daddr') return undefined;
  const set = record(right)['set'];
  const prefixes = (Array.isArray(set) ? (set as readonly unknown[]) : [right]).map((each): Prefix | undefined => {
    const { addr = each, len } = record(record(each)['prefix']);
    const address = typeof addr === 'string' ? parseAddress(addr) : undefined;
    if (address?.ok !== true) return undefined;
    return typeof len === 'number' ? maskedPrefix(address.value, len) : hostPrefix(address.value);
  });
  return prefixes.includes(undefined) ? undefined : prefixes.filter((each) => each !== undefined);
}

/** Returns the ports of "tcp dport". Undefined: another match, or ports that are not literal numbers. */
function tcpPorts({ op, left, right }: NftRecord): readonly PortRange[] | undefined {
  const { protocol, field } = record(record(left)['payload']);
  if (op !== '==' || protocol !== 'tcp' || field !== 'dport') return undefined;
  const set = record(right)['set'];
  const ranges = (Array.isArray(set) ? (set as readonly unknown[]) : [right]).map(portRange);
  return ranges.includes(undefined) ? undefined : ranges.filter((each) => each !== undefined);
}

/** Matches "meta l4proto tcp", which iptables writes before the port. */
function isTcp({ op, left, right }: NftRecord): boolean {
  const { key } = record(record(left)['meta']);
  const { field } = record(record(left)['payload']);
  return op === '==' && right === 'tcp' && (key === 'l4proto' || field === 'protocol' || field === 'nexthdr');
}

/** Matches "ct state" with new among the states. */
const isNew = (match: NftRecord): boolean => connectionValues(match, 'state')?.includes('new') === true;

/** Matches "ct state" without new among the states. */
function isEstablished(match: NftRecord): boolean {
  const states = (connectionValues(match, 'state') ?? []).flatMap((value) => record(value)['set'] ?? [value]);
  return states.length > 0 && states.every((state) => state === 'established' || state === 'related' || state === 'invalid');
}

function isOfDocker({ op, left, right }: NftRecord): boolean {
  const { key } = record(record(left)['meta']);
  return op === '==' && (key === 'iifname' || key === 'oifname') && typeof right === 'string' && dockerBridge.test(right);
}
