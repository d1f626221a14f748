import { listText } from '../../decisions/verdict/verdict-text.ts';
import type { JudgedProbe, Judgement } from './facts.ts';

/** Probes with the same result, from the same origins to several targets. */
export interface MatrixRow {
  /** Nodes; empty for the client. */
  readonly from: readonly string[];
  readonly what: JudgedProbe['what'];
  readonly to: readonly string[];
  readonly result: string;
  readonly judgement: Judgement;
  /** Milliseconds. Absent: nothing answered. */
  readonly fastest?: number;
  readonly slowest?: number;
}

export type NameOf = (address: string) => string | undefined;

const order: readonly Judgement[] = ['failed', 'narrow', 'unknown', 'passed'];

/**
 * Folds probes into rows, failures first: nodes with the same result become one row, then targets with the same nodes and result. `whole`
 * keeps a row for each target.
 */
export function matrixRows(probes: readonly JudgedProbe[], nameOf: NameOf, whole = false): MatrixRow[] {
  const texts = probes.map((probe) => ({ probe, to: targetText(probe), result: resultText(probe, nameOf) }));
  const isClient = ({ probe }: (typeof texts)[number]): boolean => probe.from === undefined;
  const byTarget = Map.groupBy(texts, (one) => JSON.stringify([isClient(one), one.probe.what, one.to, one.result])).values();
  const rows = [...byTarget].flatMap((same): MatrixRow[] => {
    const [first] = same;
    if (first === undefined) return [];
    const { what, judgement } = first.probe;
    const from = [...new Set(same.flatMap(({ probe }) => probe.from ?? []))].toSorted();
    return [{ from, what, to: [first.to], result: first.result, judgement, ...times(same.map(({ probe }) => probe)) }];
  });
  const folded = whole
    ? rows
    : [...Map.groupBy(rows, ({ from, what, result }) => JSON.stringify([from, what, result])).values()].flatMap(merge);
  return folded.toSorted((a, b) => order.indexOf(a.judgement) - order.indexOf(b.judgement));
}

function merge(rows: readonly MatrixRow[]): MatrixRow[] {
  const [first] = rows;
  if (first === undefined) return [];
  const [fast, slow] = [rows.flatMap(({ fastest }) => fastest ?? []), rows.flatMap(({ slowest }) => slowest ?? [])];
  const bounds = fast.length === 0 ? {} : { fastest: Math.min(...fast), slowest: Math.max(...slow) };
  return [{ ...first, to: rows.flatMap(({ to }) => to).toSorted(), ...bounds }];
}

/** The time of silence is that of the limit, and says nothing. */
function times(probes: readonly JudgedProbe[]): Pick<MatrixRow, 'fastest' | 'slowest'> {
  const all = probes.flatMap(({ result, milliseconds }) => (result === 'silent' ? [] : (milliseconds ?? [])));
  return all.length === 0 ? {} : { fastest: Math.min(...all), slowest: Math.max(...all) };
}

export function targetText({ what, to, protocol, on, size }: Pick<JudgedProbe, 'what' | 'to' | 'protocol' | 'on' | 'size'>): string {
  if (what === 'size') return `${to}, ${size} octets`;
  return `${to}/${protocol}${on === undefined ? '' : ` on ${on}`}`;
}

/** Returns the result without its time: "refused", "no answer within 3 s; packets get as far as node2". */
export function resultText(probe: JudgedProbe, nameOf: NameOf): string {
  const { result, protocol, by, mtu, error, milliseconds } = probe;
  const sender = by === undefined ? '' : placeText(by, nameOf);
  switch (result) {
    case 'answered':
      return probe.what === 'size' ? 'pass' : 'answered';
    case 'refused':
      return by === undefined ? 'refused' : `refused by ${sender} with an ICMP error`;
    case 'unreachable': {
      const why = errorTexts[error ?? ''] ?? error ?? 'unknown error';
      return by === undefined ? `unreachable: ${why}` : `unreachable, as ${sender} says by ICMP`;
    }
    case 'silent':
      if (protocol === 'UDP') return 'no answer, which UDP need not give';
      return `no answer within ${Math.round((milliseconds ?? 0) / 1000)} s${hopsText(probe, nameOf)}`;
    case 'tooBig':
      return `${by === undefined ? 'the node itself' : sender} passes at most ${mtu ?? 'fewer'} octets, and says so`;
    case 'lost':
      return 'lost without an ICMP error; small packets are answered';
    case 'unknown':
      return error === undefined ? 'ICMP echo is not answered, so not known' : `not known (${error})`;
  }
}

/** Errors of connect(2), by what makes Linux return them. */
const errorTexts: Readonly<Record<string, string>> = {
  EHOSTUNREACH: 'no route, or nobody on the link answers (EHOSTUNREACH)',
  ENETUNREACH: 'no route (ENETUNREACH)',
  EACCES: 'a route of type prohibit, or a filter (EACCES)',
  EINVAL: 'a route of type blackhole (EINVAL)',
  EPERM: 'a filter of the host refuses the packet (EPERM)',
};

function hopsText({ hops }: JudgedProbe, nameOf: NameOf): string {
  if (hops === undefined) return '';
  const last = hops.at(-1);
  if (last === undefined) return '; no router on the way answered';
  return `; packets get as far as ${placeText(last.from, nameOf)}, and nothing is heard from behind it`;
}

/** Names the node of an address, or else the address. */
export const placeText = (address: string, nameOf: NameOf): string => nameOf(address) ?? address;

/** Names who probed: "every node", "node1 and node2", "the client here". */
export function originText(from: readonly string[], checked: readonly string[], expected: readonly string[]): string {
  if (from.length === 0) return 'the client here';
  const isAll = expected.length > 1 && expected.every((node) => from.includes(node)) && checked.length >= expected.length;
  return isAll ? 'every node' : listText(from);
}
