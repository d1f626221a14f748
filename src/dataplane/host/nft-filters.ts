import type { FilterAction, FilterRule, ForwardFilter } from '../../net/forward-filter.ts';

/** Reads the JSON of nft (libnftables-json(5)), as far as the fate of forwarded packets needs it. */

export type BaseChain = Omit<ForwardFilter, 'chains'> & { readonly backend: 'nft' };

/** Base chains that filter forwarded IP packets, those of `ownTable` left out, from `nft -j list chains`. */
export function forwardChains(json: unknown, ownTable: string): BaseChain[] {
  return entries(json).flatMap((entry): BaseChain[] => {
    const { family, table, name, type, hook, policy } = record(record(entry)['chain']);
    if (hook !== 'forward' || type !== 'filter' || table === ownTable) return [];
    if ((family !== 'ip' && family !== 'ip6' && family !== 'inet') || typeof table !== 'string' || typeof name !== 'string') return [];
    return [{ backend: 'nft', family, table, chain: name, policy: policy === 'drop' ? 'drop' : 'accept' }];
  });
}

/** The rules of one chain, from `nft -j list chain`. */
export function rulesOf(json: unknown): FilterRule[] {
  return entries(json).flatMap((entry) => {
    const { expr } = record(record(entry)['rule']);
    return Array.isArray(expr) ? [readRule(expr)] : [];
  });
}

/** Statements that neither choose packets nor decide about them. */
const passive = new Set(['counter', 'log', 'mangle', 'comment', 'notrack', 'ct helper', 'meta']);

function readRule(expressions: readonly unknown[]): FilterRule {
  let packets: FilterRule['packets'] = 'all';
  for (const expression of expressions) {
    const [[name, value] = ['', undefined]] = Object.entries(record(expression));
    const action = readAction(name, value);
    if (action !== undefined) return { packets, action };
    if (passive.has(name) || (name === 'xt' && record(value)['name'] === 'comment')) continue;
    packets = name === 'match' && packets === 'all' && isTranslated(record(value)) ? 'translated' : 'some';
  }
  return { packets, action: { kind: 'none' } };
}

function readAction(name: string, value: unknown): FilterAction | undefined {
  if (name === 'accept' || name === 'drop' || name === 'reject' || name === 'return') return { kind: name };
  const { target, type, name: extension } = record(value);
  // iptables on nf_tables keeps its own REJECT.
  if (name === 'xt' && type === 'target' && extension === 'REJECT') return { kind: 'reject' };
  return (name === 'jump' || name === 'goto') && typeof target === 'string' ? { kind: name, chain: target } : undefined;
}

/** ct status dnat. */
function isTranslated({ op, left, right }: Readonly<Record<string, unknown>>): boolean {
  const { key } = record(record(left)['ct']);
  const values: readonly unknown[] = Array.isArray(right) ? right : [right];
  return key === 'status' && (op === 'in' || op === '==') && values.includes('dnat');
}

function entries(json: unknown): readonly unknown[] {
  const list = record(json)['nftables'];
  return Array.isArray(list) ? (list as readonly unknown[]) : [];
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
