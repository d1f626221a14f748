import { listText } from '../../decisions/verdict/verdict-text.ts';
import { tableLines } from '../text/table-text.ts';
import type { CheckReport, Judgement, ReceivedPrefix, RouterCheck } from './facts.ts';
import type { RouterAnswer } from './router-answer.ts';
import { matrixRows, originText, placeText, type MatrixRow, type NameOf } from './matrix.ts';

/** More targets of a row than this are counted. */
const shownTargets = 3;

/** Returns the verdict, the matrix, the routers, and what was not checked. `whole`: a row for each target. */
export function renderCheck(report: CheckReport, nameOf: NameOf, whole: boolean): string[] {
  const { verdict, checked, routers, received, unchecked } = report;
  const rows = matrixCells(report, nameOf, whole);
  const table = tableLines(
    ['From', 'To', 'Result', 'Time'],
    rows.map(({ cells }) => [...cells]),
  );
  return [
    verdict,
    ...(rows.length === 0 ? [] : ['', ...table]),
    ...(routers.length + received.length === 0 ? [] : ['', 'Routers', ...routerLines(routers, nameOf), ...receivedLines(received)]),
    '',
    'Not checked',
    ...unchecked.flatMap(({ what, why, fix }) => [`  ${what}: ${why}`, ...(fix === undefined || fix === '' ? [] : [`    fix: ${fix}`])]),
    ...(checked.length === 0 ? [] : [`  ${forwarding}`]),
  ];
}

/** Returns the rows of the matrix as the command prints them: from, to, result, time. `whole`: a row for each target. */
export function matrixCells(
  { probes, checked, expected }: Pick<CheckReport, 'probes' | 'checked' | 'expected'>,
  nameOf: NameOf,
  whole: boolean,
): readonly { readonly judgement: Judgement; readonly cells: readonly [string, string, string, string] }[] {
  return matrixRows(probes, nameOf, whole).map((row) => ({
    judgement: row.judgement,
    cells: [originText(row.from, checked, expected), whichText(row, whole), row.result, timeText(row)],
  }));
}

/** True of every check, so that nobody reads more out of it. */
const forwarding =
  "forward filters of the nodes: a node's own connections do not pass them, as those of clients do; each result is one connection, at one moment";

function whichText({ to, what }: MatrixRow, whole: boolean): string {
  const few = to.slice(0, shownTargets).join(', ');
  if (to.length <= shownTargets || whole) return few;
  const noun = what === 'address' ? 'addresses' : what === 'endpoint' ? 'endpoints' : 'endpoints with large packets';
  return `${to.length} ${noun}: ${to[0]} ...`;
}

function timeText({ fastest, slowest }: MatrixRow): string {
  if (fastest === undefined || slowest === undefined) return '';
  const [low, high] = [milliseconds(fastest), milliseconds(slowest)];
  return low === high ? `${low} ms` : `${low} to ${high} ms`;
}

const milliseconds = (value: number): string => (value < 10 ? value.toFixed(1) : value.toFixed(0));

/** Returns the lines about one router: prefixes with the same answer together. */
function routerLines(checks: readonly RouterCheck[], nameOf: NameOf): string[] {
  const same = Map.groupBy(checks, ({ router, answer, foreign }) => JSON.stringify([router, answer, foreign]));
  return [...same.values()].flatMap((alike) => {
    const [first] = alike;
    if (first === undefined) return [];
    const { router, answer, foreign = [] } = first;
    const lines = answerLines(`  ${router}: ${alike.map(({ prefix }) => prefix).join(', ')}`, answer, nameOf);
    return foreign.length === 0 ? lines : [...lines, ...foreignLines(foreign)];
  });
}

function foreignLines(foreign: readonly string[]): string[] {
  return [
    `    ${listText(foreign)}: no Node of this cluster, so another speaker announces it`,
    '    fix: take the address out of the pool of the other cluster or speaker, or out of the pool here',
  ];
}

function answerLines(lead: string, answer: RouterAnswer, nameOf: NameOf): string[] {
  switch (answer.has) {
    case 'best':
      return [`${lead} by ${hops(answer.nextHops, nameOf)}`];
    case 'covered':
      return [`${lead} only within ${answer.by}, by ${hops(answer.nextHops, nameOf)}`];
    case 'unusable':
      return [
        `${lead}: known by ${hops(answer.nextHops, nameOf)}, but not used. Does the router reach the next hop, and does its policy accept the route?`,
      ];
    case 'none':
      return [`${lead}: no route`];
    case 'unread':
      return [`${lead}, shown and not judged:`, ...answer.text.split('\n').map((line) => `    ${line}`)];
    case 'failed':
      return [`${lead}: not known. ${answer.why}`];
  }
}

function hops(nextHops: readonly string[], nameOf: NameOf): string {
  return nextHops.length === 0 ? 'no next hop that it names' : listText(nextHops.map((one) => placeText(one, nameOf)));
}

function receivedLines(received: readonly ReceivedPrefix[]): string[] {
  return received.map(
    ({ node, route }) =>
      `  ${route.peer}: sends ${node} a route to ${route.prefix} (AS path ${route.asPath.join(' ') || 'empty'}), so it has one`,
  );
}
