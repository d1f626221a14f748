import { defined } from '../../lang/defined.ts';
import { affinityText, balancingText } from '../../explain/service/render-service.ts';
import { reachabilityText } from '../../explain/service/reachability-text.ts';
import type { ServiceExplanation } from '../../explain/service/service.ts';
import type { Health, PathAddress, ServicePath, ServiceView } from '../contract.ts';
import type { ExplainedService } from '../picture.ts';
import { endpointsOfPath } from './path/path-endpoints.ts';
import { nodesOfPath } from './path/path-nodes.ts';
import { routersOfPath } from './path/path-routers.ts';
import { outcomeOf } from './service-outcome.ts';
import { whyOf } from './path/why.ts';

/** Draws the way from clients to the pods of one Service. */
export function serviceView({ explanation, endpoints, lines, wideLines, from, kind, at, stale, mayCheck }: ExplainedService): ServiceView {
  const { service, verdict, type } = explanation;
  return {
    from,
    kind,
    at,
    service,
    verdict,
    outcome: outcomeOf(verdict),
    type,
    path: pathOf({ explanation, endpoints }),
    lines,
    wideLines,
    mayCheck,
    ...defined({ stale }),
  };
}

function pathOf({ explanation, endpoints: lookedAt }: Pick<ExplainedService, 'explanation' | 'endpoints'>): ServicePath {
  const { allocation, endpoints, balancing, affinitySeconds } = explanation;
  const { groups, nodes, forwarding } = nodesOfPath(explanation);
  const { ready, terminating, unusable, pods = [] } = endpoints;
  return {
    addresses: addressesOf(explanation),
    balancing: [
      ...(balancing === undefined ? [] : [`balancing ${balancingText(balancing)}`]),
      ...(affinitySeconds === undefined ? [] : [affinityText(affinitySeconds)]),
    ],
    ...defined({ unmet: allocation.reason === undefined ? undefined : whyOf(allocation.reason) }),
    ...routersOfPath(explanation, groups),
    nodes,
    forwarding,
    endpoints: { ready, terminating, unusable, whys: pods.map(whyOf), ...endpointsOfPath(lookedAt) },
  };
}

/** The addresses of the Service, and its external IPs. */
function addressesOf({ allocation, status = [], clients = [] }: ServiceExplanation): PathAddress[] {
  const pools = new Map(allocation.addresses.map(({ address, pool }) => [address, pool]));
  const held = allocation.addresses.length > 0 ? [...pools.keys()] : status;
  const all = new Set([...held, ...clients.map(({ address }) => address)]);
  return [...all].map((text) => ({
    text,
    ...defined({ pool: pools.get(text) }),
    ports: clients
      .filter(({ address }) => address === text)
      .map((client) => ({
        name: client.target.slice(client.target.lastIndexOf(':') + 1),
        health: healthOfClients[client.outcome],
        line: reachabilityText(client),
      })),
  }));
}

const healthOfClients: Readonly<Record<NonNullable<ServiceExplanation['clients']>[number]['outcome'], Health>> = {
  answered: 'good',
  announced: 'unknown',
  failing: 'bad',
  partly: 'doubtful',
  intercepted: 'doubtful',
  contested: 'doubtful',
  expected: 'unknown',
  cutOff: 'bad',
  refused: 'bad',
  unreachable: 'bad',
};
