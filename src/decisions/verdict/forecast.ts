import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import { causesOf, portWithoutEndpoint, type Cause } from './causes/causes.ts';
import type { ClientReachability } from './client-reachability.ts';
import type { NodeView } from './node-view.ts';
import { listText, targetsText } from './verdict-text.ts';
import { verdictOf, type Verdict } from './verdict.ts';

interface ForecastFacts {
  readonly service: Service;
  /** Why the Service would not get the addresses that it asks for. Absent: it would. */
  readonly unmet?: Reason;
  /** The addresses that the Service would get. */
  readonly expected: readonly { readonly address: string; readonly pool?: string }[];
  /** The work of the nodes once the Service has the expected addresses. */
  readonly nodes: readonly NodeView[];
  readonly clients: readonly ClientReachability[];
}

/** Judges a Service of manifests, which no process serves: whether clients would reach it at the addresses that it would get. */
export function forecastVerdict({ service, unmet, expected, nodes, clients }: ForecastFacts): Verdict {
  const judge = (lead: string, causes: readonly Cause[]): Verdict => verdictOf(service, 'unknown', lead, causes, nodes.length);
  if (clients.length === 0) return judge('Would not be served', [{ reason: unmet ?? reason('NoAddress', undefined), nodes: [] }]);
  if (nodes.length === 0) return judge('Not known whether it would be served', [{ reason: reason('NoNodes', undefined), nodes: [] }]);
  const [reached, failed] = [clients.filter(isReached), clients.filter((client) => !isReached(client))];
  const [first] = failed;
  if (first !== undefined) {
    const lead = reached.length === 0 ? 'Would not be served' : `Would be partly served, not at ${targetsText(failed, reached)}`;
    return judge(lead, first.outcome === 'refused' ? [portWithoutEndpoint(service, first)] : causesOf(nodes, first.address));
  }
  const via = listText([...new Set(reached.flatMap((client) => client.via))]);
  const lead = `Would be served ${placesText(reached, expected)} via ${via}`;
  return unmet === undefined ? judge(lead, []) : judge(`${lead}, but not as it asks`, [{ reason: unmet, nodes: [] }]);
}

/** "at 192.0.2.7 from pool public, and at 203.0.113.1": external IPs are of no pool. */
function placesText(reached: readonly ClientReachability[], expected: ForecastFacts['expected']): string {
  const addresses = [...new Set(reached.map(({ address }) => address))];
  const others = addresses.filter((address) => !expected.some((one) => one.address === address));
  const places = [...Map.groupBy(expected, ({ pool }) => pool)].map(([pool, given]) => {
    const names = given.map(({ address }) => address);
    return `at ${listText(names)}${pool === undefined ? '' : ` from pool ${pool}`}`;
  });
  return [...places, ...(others.length === 0 ? [] : [`at ${listText(others)}`])].join(', and ');
}

/** No agent reports, so a connection of which the nodes would have no endpoint is expected to be refused. */
export function withoutEndpoint(client: ClientReachability, nodes: readonly NodeView[]): ClientReachability {
  const { address, target, outcome, via } = client;
  const [port = '', protocol = ''] = target.slice(target.lastIndexOf(':') + 1).split('/');
  const frontend = `${address} ${protocol} ${port}`;
  const isIdle = (name: string): boolean =>
    nodes.find(({ node }) => node === name)?.idle?.some((one) => one.frontend === frontend) === true;
  return outcome === 'expected' && via.every(isIdle) ? { ...client, outcome: 'refused' } : client;
}

function isReached({ outcome }: ClientReachability): boolean {
  return outcome === 'expected' || outcome === 'answered';
}
