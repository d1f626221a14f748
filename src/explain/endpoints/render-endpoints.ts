import { listText } from '../../decisions/verdict/verdict-text.ts';
import { tableLines, type Cell } from '../text/table-text.ts';
import { alikeUnqueried } from '../text/unqueried.ts';
import type { EndpointReport, EndpointRow, NodeConnections } from './endpoint-report.ts';

const titles = ['Service', 'Port', 'Scheduler', 'Endpoint', 'On', 'State', 'Weight', 'Active', 'Inactive', 'Packets In', 'Packets Out'];

/** Returns one row for each endpoint of each port. `wide` adds a row for each node that translates connections to it. */
export function renderEndpoints({ endpoints, more, counted, unasked, uncounted }: EndpointReport, wide: boolean): string[] {
  const notes = [
    ...(more === 0 ? [] : [`${more} more endpoints: name a Service, or use --namespace.`]),
    ...(uncounted === undefined ? [] : [uncountedText(uncounted)]),
    ...(counted.length === 0
      ? []
      : [
          `Connections that ${listText(counted.slice(0, namedNodes))}${furtherNodes(counted.length)} translate${counted.length === 1 ? 's' : ''} at this moment.`,
        ]),
    ...alikeUnqueried(unasked).map(({ who, why, fix }) => `${who} could not be queried: ${why}${fix === '' ? '' : ` (${fix})`}`),
  ];
  const beside = notes.length === 0 ? [] : ['', ...notes];
  if (endpoints.length === 0) return ['No Service here has an endpoint.', ...beside];
  return [...tableLines(wide ? [...titles, 'Translated By'] : titles, rowsOf(endpoints, wide)), ...beside];
}

const namedNodes = 5;
const furtherNodes = (count: number): string => (count > namedNodes ? ` and ${count - namedNodes} more nodes` : '');

const uncountedText = (what: NonNullable<EndpointReport['uncounted']>): string =>
  what === 'all'
    ? 'HeraldConfig leaves all Services to another program, whose connections are not counted.'
    : 'HeraldConfig leaves ClusterIPs to another program: connections to them are not counted.';

/** A cell is blank when it would repeat the cell above it. */
function rowsOf(endpoints: readonly EndpointRow[], wide: boolean): Cell[][] {
  return endpoints.flatMap((row, index): Cell[][] => {
    const above = endpoints[index - 1];
    const isSameService = above?.service === row.service;
    const { service, port, scheduler, endpoint, on = '', state, weight, nodes } = row;
    const where: Cell[] = [
      isSameService ? undefined : service,
      isSameService && above.port === port ? undefined : port,
      isSameService ? undefined : scheduler,
    ];
    const own: Cell[] = [...where, endpoint, on, state, String(weight), ...countsOf(row)];
    if (!wide) return [own];
    const blank: Cell[] = where.map(() => undefined);
    return [
      [...own, nodes.length === 0 ? '' : `${nodes.length} ${nodes.length === 1 ? 'node' : 'nodes'}`],
      ...nodes.map((one): Cell[] => [...blank, undefined, undefined, undefined, undefined, ...countsOf(one), one.node]),
    ];
  });
}

function countsOf({ active, inactive, packets, atLeast }: Partial<NodeConnections>): string[] {
  const least = atLeast === true ? '≥' : '';
  return [active, inactive, packets?.in, packets?.out].map((count) => (count === undefined ? '' : least + String(count)));
}
