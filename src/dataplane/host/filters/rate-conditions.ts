import { defined } from '../../../lang/defined.ts';
import type { Family } from '../../../net/address.ts';
import type { RateCondition } from '../../../net/host-filter.ts';
import { record, type NftRecord } from '../nft-json.ts';

/** A condition that holds for a share of the packets, and as its program writes it. */
interface RateMatch {
  readonly condition: RateCondition;
  /** Packets of another family have no key. */
  readonly family?: Family;
  readonly text: string;
}

/** Reads a statement of nft's JSON that holds for a share of the packets. Undefined: it is none, or a limit with a name, whose rate is elsewhere. */
export function rateOfStatement(name: string, value: unknown): RateMatch | undefined {
  if (name === 'match') return shareByChance(record(value));
  if (name !== 'set' && name !== 'meter') return rateOf(name, record(value), '');
  // Sets with statements, and meters, count for each key.
  const { stmt, elem, key, set } = record(value);
  const [statement] = Array.isArray(stmt) ? (stmt as readonly unknown[]) : [stmt];
  const [[inner, rate] = ['', undefined]] = Object.entries(record(statement));
  const keyText = JSON.stringify(elem ?? key ?? null);
  const isOfSource = keyText.includes('saddr');
  const family = keyText.includes('"protocol":"ip6"') ? 6 : keyText.includes('"protocol":"ip"') ? 4 : undefined;
  const found = rateOf(inner, record(rate), isOfSource ? ' of one source' : ' of one kind');
  return found === undefined
    ? undefined
    : { ...found, ...defined({ family }), text: `${name} ${typeof set === 'string' ? `${set} ` : ''}{ ${found.text} }` };
}

function rateOf(name: string, { rate, per, inv, rate_unit: unit, val }: NftRecord, of: string): RateMatch | undefined {
  const isBeyond = inv === true;
  const over = isBeyond ? 'over ' : '';
  if (name === 'limit' && typeof rate === 'number' && typeof per === 'string') {
    const units = typeof unit === 'string' ? unit : 'packets';
    const text = `limit rate ${over}${rate}${units === 'packets' ? '' : ` ${units}`}/${per}`;
    return { condition: { field: 'rate', amount: amountText(rate, units, of, ` a ${per}`), isBeyond }, text };
  }
  if (name !== 'ct count' || typeof val !== 'number') return undefined;
  return {
    condition: { field: 'rate', amount: amountText(val, 'connections', of, ' at a time'), isBeyond },
    text: `ct count ${over}${val}`,
  };
}

function amountText(count: number, units: string, of: string, period: string): string {
  return `${count} ${count === 1 ? units.replace(/s$/, '') : units}${of}${period}`;
}

/** Reads "numgen random mod 10 < 3", and "numgen inc mod 4 { 0, 1 }". */
function shareByChance({ op, left, right }: NftRecord): RateMatch | undefined {
  const { mode, mod, offset = 0 } = record(record(left)['numgen']);
  if (typeof mod !== 'number' || typeof mode !== 'string' || offset !== 0) return undefined;
  const set: unknown = record(right)['set'] ?? right;
  const values = Array.isArray(set) ? (set as readonly unknown[]) : [set];
  if (!values.every((value) => typeof value === 'number')) return undefined;
  const [first = 0] = values;
  const counts: Readonly<Record<string, number>> = {
    '<': first,
    '<=': first + 1,
    '>': mod - first - 1,
    '>=': mod - first,
    '==': values.length,
  };
  const count = op === '!=' ? mod - values.length : counts[String(op)];
  if (count === undefined) return undefined;
  const shown = values.length === 1 ? String(first) : `{ ${values.join(', ')} }`;
  return {
    condition: { field: 'rate', amount: `${count} of ${mod} packets`, isBeyond: false },
    text: `numgen ${mode} mod ${mod} ${op === '==' ? '' : `${String(op)} `}${shown}`,
  };
}

const periods: Readonly<Record<string, string>> = { s: 'second', m: 'minute', h: 'hour', d: 'day' };

/** Extensions of iptables that hold for a share of the packets. */
export const rateExtensions: ReadonlySet<string> = new Set(['limit', 'hashlimit', 'connlimit', 'statistic', 'recent']);

/**
 * Reads the options of such an extension. Undefined: they do not say which share, or the extension "recent" holds for packets of sources that
 * were listed.
 */
export function rateOfExtension(options: ReadonlyMap<string, string>): RateCondition | undefined {
  const rate = (option: string, of: string, isBeyond: boolean): RateCondition | undefined => {
    const [, count, units = 'packets', period = ''] = /^(\d+)([a-z]*)\/([a-z])/.exec(options.get(option) ?? '') ?? [];
    const per = periods[period];
    if (count === undefined || per === undefined) return undefined;
    return { field: 'rate', amount: amountText(Number(count), units === '' ? 'packets' : unitText(units), of, ` a ${per}`), isBeyond };
  };
  const modes = options.get('--hashlimit-mode');
  const of = modes === undefined ? '' : modes.includes('srcip') ? ' of one source' : ' of one kind';
  return (
    rate('--limit', '', false) ??
    rate('--hashlimit-upto', of, false) ??
    rate('--hashlimit', of, false) ??
    rate('--hashlimit-above', of, true) ??
    connections(options, '--connlimit-upto', false) ??
    connections(options, '--connlimit-above', true) ??
    statistic(options) ??
    recent(options)
  );
}

const unitText = (units: string): string => (units === 'b' ? 'bytes' : `${units.slice(0, 1)}bytes`);

function connections(options: ReadonlyMap<string, string>, option: string, isBeyond: boolean): RateCondition | undefined {
  const count = Number(options.get(option));
  const of = options.has('--connlimit-daddr') ? ' to one address' : options.get('--connlimit-mask') === '0' ? '' : ' of one source';
  return Number.isInteger(count) ? { field: 'rate', amount: amountText(count, 'connections', of, ' at a time'), isBeyond } : undefined;
}

function statistic(options: ReadonlyMap<string, string>): RateCondition | undefined {
  const probability = Number(options.get('--probability'));
  const every = options.get('--every');
  if (every !== undefined) return { field: 'rate', amount: `1 of ${every} packets`, isBeyond: false };
  return probability > 0 && probability < 1
    ? { field: 'rate', amount: `${Number((probability * 100).toFixed(1))} % of the packets`, isBeyond: false }
    : undefined;
}

function recent(options: ReadonlyMap<string, string>): RateCondition | undefined {
  const [count, seconds] = [Number(options.get('--hitcount')), Number(options.get('--seconds'))];
  return count > 1 && seconds > 0
    ? { field: 'rate', amount: amountText(count - 1, 'packets', ' of one source', ` in ${seconds} seconds`), isBeyond: true }
    : undefined;
}
