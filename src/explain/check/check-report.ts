import { defined } from '../../lang/defined.ts';
import type { CheckLine, NodeProbe } from '../../live/contract.ts';
import type { CheckInput, CheckOutcome, CheckReport, JudgedProbe, Judgement, Unchecked } from './facts.ts';
import type { NameOf } from './matrix.ts';
import { verdictOf } from './verdict.ts';

/** Judges a check. `nameOf` names the node that has an address, for sentences. */
export function checkReport(input: CheckInput, nameOf: NameOf): CheckReport {
  const { service, nodes, expected, client, routers, received } = input;
  const checked = nodes.filter(({ lines }) => lines.some(({ type }) => type === 'end')).map(({ node }) => node);
  const cut = nodes.filter(({ node }) => !checked.includes(node));
  const unprobed = [...nodes, { node: undefined, lines: client ?? [] }].flatMap(({ node, lines }) =>
    lines.flatMap((line) => (line.type === 'unprobed' ? [{ what: `${node ?? 'the client here'}: ${line.what}`, why: line.why }] : [])),
  );
  const probes = [...nodes.flatMap(({ node, lines }) => probesIn(lines, node)), ...probesIn(client ?? [], undefined)];
  const unchecked = [
    ...input.unchecked,
    ...cut.map(({ node }) => ({ what: `the rest of ${node}`, why: 'its answer ended early' })),
    ...alike(unprobed),
  ];
  const facts = { ...input, probes, checked };
  const outcome = outcomeOf(facts);
  return { service, outcome, verdict: verdictOf({ ...facts, outcome, nameOf }), checked, expected, probes, routers, received, unchecked };
}

function probesIn(lines: readonly CheckLine[], from: string | undefined): JudgedProbe[] {
  return lines.flatMap((line) => {
    if (line.type !== 'probe') return [];
    const { type: _, ...probe } = line;
    return [{ ...defined({ from }), ...probe, judgement: judge(probe) }];
  });
}

/** UDP need not answer, and silence of ICMP echo says nothing of other packets. */
function judge({ protocol, result }: Pick<NodeProbe, 'protocol' | 'result'>): Judgement {
  if (result === 'answered') return 'passed';
  if (result === 'tooBig') return 'narrow';
  if (result === 'unknown' || (result === 'silent' && protocol === 'UDP')) return 'unknown';
  return 'failed';
}

function outcomeOf({
  probes,
  routers,
  checked,
  expected,
  hasEndpoints,
}: Pick<CheckInput, 'routers' | 'expected' | 'hasEndpoints'> & Pick<CheckReport, 'probes' | 'checked'>): CheckOutcome {
  const isWrong = routers.some(({ answer, foreign }) => answer.has === 'none' || answer.has === 'unusable' || foreign !== undefined);
  if (isWrong || !hasEndpoints || probes.some(({ judgement }) => judgement === 'failed')) return 'failed';
  if (probes.length === 0) return 'unchecked';
  return expected.every((node) => checked.includes(node)) && checked.length > 0 ? 'passed' : 'incomplete';
}

/** Merges entries with the same reason. */
function alike(entries: readonly Unchecked[]): Unchecked[] {
  return [...Map.groupBy(entries, ({ why }) => why).values()].flatMap((same) => {
    const [first] = same;
    return first === undefined ? [] : [same.length === 1 ? first : { what: `${first.what}, and ${same.length - 1} more`, why: first.why }];
  });
}
