import { parseAddress, type Family } from '../../../net/address.ts';
import type { FilterCondition } from '../../../net/host-filter.ts';
import { hostPrefix, maskedPrefix, type Prefix } from '../../../net/prefix.ts';
import { parseRange, rangeToPrefixes } from '../../../net/range.ts';
import { portRange, record, valuesText, type NftRecord } from '../nft-json.ts';

/**
 * Reads one match statement of nft's JSON (libnftables-json(5)). The protocol that a field belongs to is a condition as well: "tcp dport 80"
 * matches no UDP packet.
 */
export function conditionsOf(match: NftRecord): FilterCondition[] {
  const { op, left, right } = match;
  if (isOfFirstPackets(match)) return impliedBy('tcp');
  const { protocol } = record(record(left)['payload']);
  const isNegated = op === '!=';
  const implied = impliedBy(protocol);
  const known = op === '==' || isNegated || op === 'in' || op === '!' ? knownCondition(match, isNegated, valuesOf(right)) : undefined;
  return [...implied, known ?? { field: 'other', looksAt: fieldText(left) }];
}

/** "tcp flags syn", and "tcp flags & (fin | syn | rst | ack) == syn": the first packet of every TCP connection is one. */
function isOfFirstPackets({ op, left, right }: NftRecord): boolean {
  const masked = record(left)['&'];
  const [field, mask]: readonly unknown[] = Array.isArray(masked) ? (masked as readonly unknown[]) : [left];
  const { protocol, field: name } = record(record(field)['payload']);
  const flags = Array.isArray(mask) ? (mask as readonly unknown[]) : [mask ?? 'syn'];
  return protocol === 'tcp' && name === 'flags' && right === 'syn' && (op === '==' || op === 'in') && flags.includes('syn');
}

/** Writes a match statement as nft does, with at most four values. */
export function matchText({ op, left, right }: NftRecord): string {
  const operator = op === '==' || op === 'in' ? '' : `${String(op)} `;
  return `${fieldText(left)} ${operator}${right === false ? 'missing' : valuesText(valuesOf(right))}`;
}

/** Writes the field that an expression reads: "tcp dport", "ct mark", "ip saddr . tcp dport". */
export function fieldText(expression: unknown): string {
  const [[name, value] = ['', undefined]] = Object.entries(record(expression));
  const { protocol, field, key, dir, result, flags } = record(value);
  const parts: readonly unknown[] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  const words = (...several: readonly unknown[]): string => several.filter((one) => typeof one === 'string').join(' ');
  if (name === 'payload' && protocol !== undefined) return words(protocol, field);
  if (name === 'meta') return typeof key === 'string' && unqualified.has(key) ? key : words('meta', key);
  if (name === 'ct') return words('ct', dir, key);
  if (name === 'fib') return words('fib', Array.isArray(flags) ? flags.join(' . ') : flags, result);
  if (name === 'concat') return parts.map(fieldText).join(' . ');
  return parts.length > 0 ? fieldText(parts[0]) : name;
}

const unqualified: ReadonlySet<string> = new Set(['iif', 'oif', 'iifname', 'oifname', 'iifgroup', 'oifgroup']);

/** Returns the values of a literal set, of a list of flags, or the single value. */
function valuesOf(right: unknown): readonly unknown[] {
  const set = record(right)['set'] ?? right;
  return Array.isArray(set) ? (set as readonly unknown[]) : [set];
}

const families: Readonly<Record<string, Family>> = { ip: 4, ip6: 6, ipv4: 4, ipv6: 6 };
export const ofFamily = (family: Family, negated = false): FilterCondition => ({ field: 'family', family, negated });

function impliedBy(protocol: unknown): FilterCondition[] {
  if (typeof protocol !== 'string' || protocol === 'th') return [];
  const family = families[protocol];
  if (family !== undefined) return [ofFamily(family)];
  const name = protocol === 'icmpv6' ? 'ipv6-icmp' : protocol;
  return transports.has(protocol) ? [{ field: 'protocol', names: [name], negated: false }] : [];
}

const transports: ReadonlySet<string> = new Set(['tcp', 'udp', 'udplite', 'sctp', 'dccp', 'icmp', 'icmpv6', 'esp', 'ah']);

function knownCondition({ op, left }: NftRecord, negated: boolean, values: readonly unknown[]): FilterCondition | undefined {
  const [[name] = ['']] = Object.entries(record(left));
  const { protocol, field, key, dir } = record(record(left)[name]);
  if (name === 'ct') return dir === undefined ? connectionCondition(key, op, values) : undefined;
  if (op === 'in' || op === '!') return undefined;
  if (name === 'meta') return metaCondition(String(key), negated, values);
  if (name !== 'payload') return undefined;
  if (field === 'protocol' || field === 'nexthdr') return { field: 'protocol', names: values.map(String), negated };
  if (field === 'dport' || field === 'sport') {
    const ranges = values.map(portRange).filter((range) => range !== undefined);
    return ranges.length === values.length ? { field: field === 'dport' ? 'port' : 'sourcePort', ranges, negated } : undefined;
  }
  if (protocol === 'ether' && field === 'type') return familyCondition(values, negated);
  if (field !== 'saddr' && field !== 'daddr') return undefined;
  const prefixes = values.map(prefixesOf);
  if (prefixes.includes(undefined)) return undefined;
  const known = prefixes.flatMap((each) => each ?? []);
  return field === 'saddr' ? { field: 'source', prefixes: known, negated } : { field: 'destination', prefixes: known, negated };
}

function metaCondition(key: string, negated: boolean, values: readonly unknown[]): FilterCondition | undefined {
  const names = values.map(String);
  if (key === 'l4proto') return { field: 'protocol', names, negated };
  if (key === 'iif' || key === 'iifname') return { field: 'interface', names, negated };
  if (key === 'oif' || key === 'oifname') return { field: 'outInterface', names, negated };
  return key === 'nfproto' || key === 'protocol' ? familyCondition(values, negated) : undefined;
}

function familyCondition(values: readonly unknown[], negated: boolean): FilterCondition | undefined {
  const family = families[String(values[0])];
  return family === undefined || values.length > 1 ? undefined : ofFamily(family, negated);
}

/** "ct state new" holds for states in the list, and with "!" for all others. A comparison of status flags by value is not read. */
function connectionCondition(key: unknown, op: unknown, values: readonly unknown[]): FilterCondition | undefined {
  const negated = op === '!' || op === '!=';
  if (key === 'state') return { field: 'state', states: values.map(String), negated };
  return key === 'status' && (op === 'in' || op === '!') && values.length === 1 && values[0] === 'dnat'
    ? { field: 'translated', negated }
    : undefined;
}

/** Returns the prefixes of an address, a prefix or a range. Undefined: a set that has a name. */
function prefixesOf(value: unknown): readonly Prefix[] | undefined {
  const { addr = value, len } = record(record(value)['prefix']);
  const { range } = record(value);
  if (Array.isArray(range)) {
    const read = parseRange(range.join('-'));
    return read.ok ? rangeToPrefixes(read.value) : undefined;
  }
  const address = typeof addr === 'string' ? parseAddress(addr) : undefined;
  if (address?.ok !== true) return undefined;
  return [typeof len === 'number' ? maskedPrefix(address.value, len) : hostPrefix(address.value)];
}
