import { defined } from '../../lang/defined.ts';
import { parseAddress } from '../../net/address.ts';
import type { Protocol } from '../../net/frontend.ts';
import type { HostNatRule } from '../../net/host-nat.ts';
import { parsePrefix, type Prefix } from '../../net/prefix.ts';
import { parseRange, rangeToPrefixes } from '../../net/range.ts';
import { entries, portRange, record, valuesText, type NftRecord } from './nft-json.ts';

/** Reads NAT chains from nft's JSON (libnftables-json(5)). */

export type NatChain = Pick<HostNatRule, 'hook' | 'family' | 'table' | 'chain' | 'priority'>;
type Conditions = Pick<HostNatRule, 'protocol' | 'destinations' | 'ports' | 'onlyLocal'> & { readonly texts: readonly string[] };

/** Reads `nft -j list chains`. Returns the base chains that translate destinations earlier than `before`, except those of `ownTable`. */
export function natChains(json: unknown, ownTable: string, before: number): NatChain[] {
  return entries(json).flatMap((entry): NatChain[] => {
    const { family, table, name, type, hook, prio } = record(record(entry)['chain']);
    if ((hook !== 'prerouting' && hook !== 'output') || type !== 'nat' || table === ownTable) return [];
    if ((family !== 'ip' && family !== 'ip6' && family !== 'inet') || typeof table !== 'string' || typeof name !== 'string') return [];
    return typeof prio === 'number' && prio < before ? [{ hook, family, table, chain: name, priority: prio }] : [];
  });
}

/** Returns the rules that change destinations, from the base chain and the chains that it leads to. `list` returns a chain as JSON. */
export async function natRules(base: NatChain, list: (chain: string) => Promise<unknown>, maximum: number): Promise<HostNatRule[]> {
  const found: HostNatRule[] = [];
  const visit = async (chain: string, outer: Conditions, depth: number): Promise<void> => {
    for (const entry of entries(await list(chain))) {
      const { expr } = record(record(entry)['rule']);
      if (!Array.isArray(expr) || found.length >= maximum) continue;
      let inner = outer;
      for (const expression of expr as readonly unknown[]) {
        const [[name, value] = ['', undefined]] = Object.entries(record(expression));
        if (name === 'match') inner = narrowed(inner, record(value));
        const { target, type, name: extension } = record(value);
        const isTranslation = name === 'dnat' || name === 'redirect' || (name === 'xt' && type === 'target' && isIptables(extension));
        const { texts, ...conditions } = inner;
        if (isTranslation) found.push({ ...base, ...conditions, text: [...texts, name === 'redirect' ? name : 'dnat'].join(' ') });
        if ((name === 'jump' || name === 'goto') && typeof target === 'string' && depth < maximumDepth)
          await visit(target, inner, depth + 1);
      }
    }
  };
  await visit(base.chain, { onlyLocal: false, texts: [] }, 0);
  return found;
}

const maximumDepth = 4;

function isIptables(extension: unknown): boolean {
  return extension === 'DNAT' || extension === 'REDIRECT';
}

/** Adds one match. A match that Herald does not understand changes nothing: the rule may match any packet. */
function narrowed(conditions: Conditions, { op, left, right }: NftRecord): Conditions {
  if (op !== '==') return conditions;
  const { protocol, field } = record(record(left)['payload']);
  const { key } = record(record(left)['meta']);
  const values: readonly unknown[] = Array.isArray(record(right)['set']) ? (record(right)['set'] as readonly unknown[]) : [right];
  if (field === 'daddr' && (protocol === 'ip' || protocol === 'ip6')) {
    const destinations = values.map(prefixesOf);
    if (destinations.includes(undefined)) return conditions;
    const known = destinations.flatMap((each) => each ?? []);
    return { ...conditions, destinations: known, texts: [...conditions.texts, `${protocol} daddr ${valuesText(values)}`] };
  }
  if (field === 'dport') {
    const ports = values.map(portRange);
    const own = protocolOf(protocol) ?? conditions.protocol;
    const text = `${protocol === 'th' ? 'th' : String(protocol)} dport ${valuesText(values)}`;
    if (ports.includes(undefined)) return { ...conditions, ...defined({ protocol: own }) };
    return { ...conditions, ...defined({ protocol: own }), ports: ports.flatMap((each) => each ?? []), texts: [...conditions.texts, text] };
  }
  if (key === 'l4proto' || field === 'protocol' || field === 'nexthdr')
    return { ...conditions, ...defined({ protocol: protocolOf(right) }) };
  if (right === 'local' && record(record(left)['fib'])['result'] === 'type')
    return { ...conditions, onlyLocal: true, texts: [...conditions.texts, 'fib daddr type local'] };
  return conditions;
}

function protocolOf(word: unknown): Protocol | undefined {
  return word === 'tcp' ? 'TCP' : word === 'udp' ? 'UDP' : word === 'sctp' ? 'SCTP' : undefined;
}

function prefixesOf(value: unknown): readonly Prefix[] | undefined {
  const { addr, len } = record(record(value)['prefix']);
  const { range } = record(value);
  if (typeof addr === 'string') return prefixOf(`${addr}/${String(len)}`);
  if (Array.isArray(range)) {
    const parsed = parseRange(range.join('-'));
    return parsed.ok ? rangeToPrefixes(parsed.value) : undefined;
  }
  if (typeof value !== 'string') return undefined;
  const address = parseAddress(value);
  return address.ok ? prefixOf(`${value}/${address.value.family === 4 ? 32 : 128}`) : undefined;
}

function prefixOf(text: string): readonly Prefix[] | undefined {
  const prefix = parsePrefix(text);
  return prefix.ok ? [prefix.value] : undefined;
}
