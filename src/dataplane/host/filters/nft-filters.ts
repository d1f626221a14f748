import { allowanceChain, type FilterAction, type FilterCondition, type FilterRule, type HostFilter } from '../../../net/host-filter.ts';
import { decidingTargets } from './legacy-filters.ts';
import { limits } from '../limits.ts';
import { conditionsOf, matchText, ofFamily } from './nft-conditions.ts';
import { entries, record, type NftRecord } from '../nft-json.ts';
import { rateOfStatement } from './rate-conditions.ts';
import { packetsOf } from './rule-packets.ts';

/** Reads nft's JSON (libnftables-json(5)), as far as it decides about packets of Services and packets to the node. */

export type BaseChain = Omit<HostFilter, 'chains'> & { readonly backend: 'nft' };

const hooks = ['ingress', 'prerouting', 'forward', 'input', 'egress'] as const;
const families = ['ip', 'ip6', 'inet', 'netdev'] as const;

/**
 * Reads `nft -j list chains`. Returns the base chains that filter IP packets which come in, are forwarded, or leave by an interface, except those
 * of `ownTables`. Versions of nft leave out the interfaces of a chain: `devicesOf` reads them elsewhere.
 */
export function filterChains(json: unknown, ownTables: ReadonlySet<string>): BaseChain[] {
  return entries(json).flatMap((entry): BaseChain[] => {
    const { family: ofTable, table, name, type, hook: at, policy, prio } = record(record(entry)['chain']);
    const hook = hooks.find((one) => one === at);
    const family = families.find((one) => one === ofTable);
    if (hook === undefined || family === undefined || type !== 'filter') return [];
    if (typeof table !== 'string' || typeof name !== 'string' || ownTables.has(table)) return [];
    const priority = typeof prio === 'number' ? prio : 0;
    return [{ hook, priority, backend: 'nft', family, table, chain: name, policy: policy === 'drop' ? 'drop' : 'accept' }];
  });
}

/** Reads the interfaces of a chain from the text of `nft list chain`: `device "eth0"`, or `devices = { eth0, eth1 }`. */
export function devicesOf(text: string): string[] {
  const [, names = ''] = /^\s*type filter hook \w+ devices? (?:= \{)?([^;}]*?)\}? priority/m.exec(text) ?? [];
  return names.split(',').flatMap((name) => {
    const plain = name.trim().replaceAll('"', '');
    return plain === '' ? [] : [plain];
  });
}

/** Reads the rules of one chain from `nft -j list chain`. A rule with a literal map of verdicts counts as one rule for each of its elements. */
export function rulesOf(json: unknown): FilterRule[] {
  const rules = entries(json).map((entry) => record(record(entry)['rule']));
  return rules
    .filter(({ expr }) => Array.isArray(expr))
    .flatMap(({ expr, chain }, index) =>
      spread(expr as readonly unknown[]).map((one) => ({ ...readRule(one, chain === allowanceChain), number: index + 1 })),
    );
}

/** True when the rules have extensions of iptables, which nft prints without their arguments. */
export function hasExtensions(json: unknown): boolean {
  return entries(json).some((entry) => {
    const { expr } = record(record(entry)['rule']);
    return (Array.isArray(expr) ? expr : []).some((each) => isExtension(record(record(each)['xt'])));
  });
}

const isExtension = ({ type, name }: NftRecord): boolean => type === 'match' && name !== 'comment';

/** Replaces a literal map of verdicts by a match and a verdict for each of its elements. */
function spread(expressions: readonly unknown[]): (readonly unknown[])[] {
  const at = expressions.findIndex((each) => record(each)['vmap'] !== undefined);
  if (at < 0) return [expressions];
  const { key: left, data } = record(record(expressions[at])['vmap']);
  const elements = record(data)['set'];
  if (!Array.isArray(elements) || elements.length > limits.mapElements) return [expressions];
  return (elements as readonly unknown[]).map((element) => {
    const [right, verdict]: readonly unknown[] = Array.isArray(element) ? (element as readonly unknown[]) : [];
    return [...expressions.slice(0, at), { match: { op: '==', left, right } }, verdict ?? { vmap: {} }];
  });
}

/** Statements that neither select packets nor decide about them. */
const passive = new Set(['counter', 'log', 'mangle', 'comment', 'notrack', 'ct helper', 'meta', 'continue']);

/** Statements by which another program or a map decides. */
const deciding = new Set(['queue', 'vmap', 'tproxy', 'synproxy']);

/** `isOwn`: Herald has the rule in a table of iptables, whose extensions nft prints without their arguments. */
function readRule(expressions: readonly unknown[], isOwn: boolean): Omit<FilterRule, 'number'> {
  const conditions: FilterCondition[] = [];
  const texts: string[] = [];
  for (const expression of expressions) {
    const [[name, value] = ['', undefined]] = Object.entries(record(expression));
    const action = readAction(name, value);
    if (action !== undefined) {
      const text = [...texts, actionText(action, name)].join(' ').slice(0, limits.ruleText);
      return { packets: packetsOf(conditions), conditions, action, text };
    }
    const { type, name: extension } = record(value);
    const rate = rateOfStatement(name, value);
    if (rate !== undefined) {
      conditions.push(...(rate.family === undefined ? [] : [ofFamily(rate.family)]), rate.condition);
      texts.push(rate.text);
    } else if (isOwn && extension === 'conntrack' && conditions.length === 0) conditions.push({ field: 'translated', negated: false });
    else if (!passive.has(name) && extension !== 'comment' && (name !== 'xt' || type === 'match')) {
      conditions.push(...(name === 'match' ? conditionsOf(record(value)) : [otherCondition(name, extension)]));
      texts.push(name === 'match' ? matchText(record(value)) : name === 'xt' ? `-m ${String(extension)}` : name);
    }
  }
  return { packets: packetsOf(conditions), conditions, action: { kind: 'none' }, text: texts.join(' ').slice(0, limits.ruleText) };
}

function otherCondition(name: string, extension: unknown): FilterCondition {
  return { field: 'other', looksAt: name === 'xt' ? `the extension ${String(extension)} of iptables` : name };
}

const actionText = (action: FilterAction, name: string): string =>
  'chain' in action ? `${action.kind} ${action.chain}` : action.kind === 'unknown' ? name : action.kind;

function readAction(name: string, value: unknown): FilterAction | undefined {
  if (name === 'accept' || name === 'drop' || name === 'reject' || name === 'return') return { kind: name };
  const { target, type, name: extension } = record(value);
  // iptables on nf_tables uses its own REJECT extension.
  if (name === 'xt' && type === 'target' && extension === 'REJECT') return { kind: 'reject' };
  if (deciding.has(name) || (name === 'xt' && type === 'target' && decidingTargets.has(String(extension)))) return { kind: 'unknown' };
  return (name === 'jump' || name === 'goto') && typeof target === 'string' ? { kind: name, chain: target } : undefined;
}
