import { listText } from '../../decisions/verdict/verdict-text.ts';
import type { CheckInput, CheckOutcome, JudgedProbe } from './facts.ts';
import { matrixRows, originText, targetText, type MatrixRow, type NameOf } from './matrix.ts';

interface VerdictFacts extends Pick<CheckInput, 'expected' | 'external' | 'routers' | 'hasEndpoints'> {
  readonly outcome: CheckOutcome;
  readonly checked: readonly string[];
  readonly probes: readonly JudgedProbe[];
  readonly nameOf: NameOf;
}

/** More failures than this are counted. */
const shownFailures = 3;
/** More addresses than this are counted. */
const shownTargets = 2;

/** Says in one line what was seen: what does not work first, else what works, and nothing that was not tried. */
export function verdictOf(facts: VerdictFacts): string {
  const { outcome } = facts;
  if (outcome === 'unchecked') return 'Nothing was checked.';
  const said = outcome === 'failed' ? failures(facts) : successes(facts);
  return `${startsWithName(said) ? said : `${said.slice(0, 1).toUpperCase()}${said.slice(1)}`}.`;
}

/** The name of a node or router keeps its spelling, also where a sentence begins. */
const startsWithName = (said: string): boolean => !/^(?:every|no|the|large|on) /.test(said);

function failures(facts: VerdictFacts): string {
  const { probes, routers, nameOf, hasEndpoints } = facts;
  const rows = matrixRows(probes, nameOf).filter(({ judgement }) => judgement === 'failed');
  const rank = ({ what, from }: MatrixRow): number => (from.length === 0 ? 3 : what === 'endpoint' ? 0 : what === 'address' ? 1 : 2);
  const clauses = [
    ...(hasEndpoints ? [] : ['the Service has no endpoint that takes connections']),
    ...rows.toSorted((a, b) => rank(a) - rank(b)).map((row) => failureText(row, facts)),
    ...routers.flatMap(({ router, prefix, answer, foreign }) => {
      if (foreign !== undefined)
        return [`${router} sends ${prefix} to ${listText(foreign)}, no Node of this cluster: another speaker announces it`];
      if (answer.has === 'none') return [`${router} has no route to ${prefix}`];
      return answer.has === 'unusable' ? [`${router} knows routes to ${prefix}, and uses none of them`] : [];
    }),
  ];
  const hidden = clauses.length - shownFailures;
  return [...clauses.slice(0, shownFailures), ...(hidden > 0 ? [`and ${hidden} more below`] : [])].join('; ');
}

function failureText({ from, what, to, result }: MatrixRow, { checked, expected }: VerdictFacts): string {
  const origin = originText(from, checked, expected);
  if (what === 'size') return `large packets from ${origin} to ${listText(to)} are ${result}`;
  const target = to.length > 2 ? `${to.length} ${what === 'endpoint' ? 'endpoints' : 'addresses'}, such as ${to[0]}` : listText(to);
  const subject = origin === 'every node' ? 'no node reaches' : from.length > 1 ? `${origin} do not reach` : `${origin} does not reach`;
  return `${subject} ${target} (${result})`;
}

function successes(facts: VerdictFacts): string {
  const { probes, checked, expected, outcome } = facts;
  const ofNodes = probes.filter(({ from, what }) => from !== undefined && what !== 'size');
  const ofClient = probes.filter(({ from }) => from === undefined);
  const reached = ofNodes.filter(({ judgement }) => judgement === 'passed');
  const mute = ofNodes.filter(({ judgement }) => judgement === 'unknown');
  const missing = expected.filter((node) => !checked.includes(node));
  const nodes = outcome === 'passed' && expected.length > 1 ? 'every node' : listText(checked);
  const verb = outcome !== 'passed' || expected.length < 2 ? (checked.length > 1 ? 'reach' : 'reaches') : 'reaches';
  const external = targets(reached.filter(({ what, to }) => what === 'address' && facts.external.has(to)));
  const objects = objectsText(reached, mute, external);
  return [
    ...(checked.length > 0 && objects !== '' ? [`${nodes} ${verb} ${objects}`] : []),
    ...clientText(ofClient, external),
    ...narrowTexts(facts),
    ...(mute.length === 0 ? [] : [muteText(mute)]),
    ...(missing.length === 0 ? [] : [`${listText(missing)} ${missing.length > 1 ? 'were' : 'was'} not checked`]),
  ].join('; ');
}

const targets = (probes: readonly JudgedProbe[]): ReadonlySet<string> => new Set(probes.map(targetText));

/** "every endpoint and 198.51.100.10:80/TCP". */
function objectsText(reached: readonly JudgedProbe[], mute: readonly JudgedProbe[], external: ReadonlySet<string>): string {
  const protocols = [...new Set(reached.map(({ protocol }) => protocol))];
  const only = mute.length === 0 ? '' : `${protocols.join(' and ')} `;
  const inside = reached.some(({ what }) => what === 'address') ? ["the Service's addresses inside the cluster"] : [];
  return listText([
    ...(reached.some(({ what }) => what === 'endpoint') ? [`every ${only}endpoint`] : []),
    ...(external.size > 0 ? [manyText(external)] : inside),
  ]);
}

/** The client tries the addresses for clients only. */
function clientText(probes: readonly JudgedProbe[], ofNodes: ReadonlySet<string>): string[] {
  const reached = targets(probes.filter(({ judgement }) => judgement === 'passed'));
  if (reached.size === 0) return [];
  const isSame = ofNodes.size > 0 && reached.isSupersetOf(ofNodes);
  return [isSame ? 'the client here too' : `the client here reaches ${manyText(reached)}`];
}

function manyText(targets: ReadonlySet<string>): string {
  return targets.size > shownTargets ? `all ${targets.size} addresses and ports for clients` : listText([...targets]);
}

/** Packets that are too big for a hop are no failure: their sender learns it. */
function narrowTexts({ probes, checked, expected, nameOf }: VerdictFacts): string[] {
  const rows = matrixRows(probes, nameOf).filter(({ judgement }) => judgement === 'narrow');
  return rows.slice(0, 1).map(({ from, to, result }) => {
    const target = to.length > 1 ? `${to.length} endpoints` : listText(to);
    return `on the way from ${originText(from, checked, expected)} to ${target}, ${result}`;
  });
}

function muteText(mute: readonly JudgedProbe[]): string {
  const all = targets(mute);
  const [only = ''] = all;
  const which = all.size === 1 ? only : `${all.size} targets of UDP`;
  return `${which} refused nothing and answered nothing, which UDP need not do: not known`;
}
