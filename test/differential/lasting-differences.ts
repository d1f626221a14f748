import { ingressOf, specOf, type Environment, type Objects, type ServicePort } from './objects.ts';
import type { LastingFlow } from './lasting.ts';
import { placeText } from './wire.ts';

/** What became of the flows of some clients that had the same fate before the objects changed. */
export interface LastingCase {
  readonly flow: LastingFlow;
  /** Before, on both sides: "10.160.0.11:8080 as itself". */
  readonly fate: string;
  readonly kubeProxy: ReadonlySet<string>;
  readonly herald: ReadonlySet<string>;
  /** After the change. */
  readonly objects: Objects;
  readonly environment: Environment;
}

/** Where Herald treats a flow that goes on in another way than kube-proxy, on purpose. */
export interface LastingDifference {
  readonly name: string;
  readonly reason: string;
  readonly allows: (lasting: LastingCase) => boolean;
}

export const lastingDifferences: readonly LastingDifference[] = [
  {
    name: 'flows of UDP and SCTP end with their endpoint, also of SCTP and where nobody else serves, and with their frontend',
    reason: 'kube-proxy leaves the client with an endpoint that is gone, for as long as it sends (row 60).',
    allows: ({ flow, fate, kubeProxy, herald, objects }) =>
      flow.protocol !== 'TCP' && isOnly(kubeProxy, 'kept') && !herald.has('kept') && !isServed(flow, endpointOf(fate), objects),
  },
  {
    name: 'a connection of TCP that began before its frontend begins anew',
    reason: 'Nobody has answered it, and all further packets would be treated as the first was (kubernetes/kubernetes#48719).',
    allows: ({ flow, fate, kubeProxy, herald }) =>
      flow.protocol === 'TCP' &&
      endpointOf(fate) === placeText(flow.destination, flow.port) &&
      isOnly(kubeProxy, 'kept') &&
      !herald.has('kept'),
  },
  {
    name: 'what a client of UDP sent to a NodePort before there was one goes on like that, where nodePortAddresses is no address but a prefix',
    reason:
      'Herald asks the kernel to forget flows by address, and does not know which ones of the prefix the node has: they run into their time-out.',
    allows: ({ flow, fate, kubeProxy, herald, environment }) =>
      environment.nodePortAddresses.some((prefix) => !/\/(?:32|128)$/.test(prefix)) &&
      flow.port >= 30_000 &&
      endpointOf(fate) === placeText(flow.destination, flow.port) &&
      isOnly(herald, 'kept') &&
      !kubeProxy.has('kept'),
  },
  {
    name: 'an external IP that no ExternalIPPolicy allows is no frontend, also later',
    reason: 'As for new flows (row 20).',
    allows: ({ flow, fate, herald, objects, environment }) =>
      !environment.externalIPsAllowed &&
      objects.services.some((service) => specOf(service).externalIPs?.includes(flow.destination) === true) &&
      endpointOf(fate) === placeText(flow.destination, flow.port) &&
      isOnly(herald, 'kept'),
  },
  {
    name: 'TCP is refused by a reset, also later',
    reason: 'As for new connections.',
    allows: ({ flow, kubeProxy, herald }) => flow.protocol === 'TCP' && isOnly(kubeProxy, 'icmp') && isOnly(herald, 'reset'),
  },
];

function isOnly(kinds: ReadonlySet<string>, kind: string): boolean {
  return kinds.size === 1 && kinds.has(kind);
}

function endpointOf(fate: string): string {
  return fate.split(' as ')[0] ?? '';
}

/** Whether the endpoint serves a Service port that has this frontend. */
function isServed({ protocol, destination, port }: LastingFlow, endpoint: string, { services, slices }: Objects): boolean {
  return services.some((service) => {
    if (service.metadata.labels?.['service.kubernetes.io/service-proxy-name'] !== undefined) return false;
    const spec = specOf(service);
    const addresses = new Set([...spec.clusterIPs, ...ingressOf(service).answered, ...(spec.externalIPs ?? [])]);
    const isFrontend = (each: ServicePort): boolean =>
      each.protocol === protocol && (each.nodePort === port || (each.port === port && addresses.has(destination)));
    const names = new Set(spec.ports.filter(isFrontend).map(({ name }) => name));
    return slices.some((slice) => {
      const labels = slice.metadata.labels ?? {};
      if (labels['kubernetes.io/service-name'] !== service.metadata.name || 'service.kubernetes.io/headless' in labels) return false;
      const ports = (slice['ports'] as ServicePort[]).filter((each) => each.protocol === protocol && names.has(each.name));
      const endpoints = slice['endpoints'] as { addresses: string[]; conditions: { serving?: boolean } }[];
      return endpoints.some(
        ({ addresses: [address = ''], conditions }) =>
          conditions.serving !== false && ports.some((each) => placeText(address, each.port) === endpoint),
      );
    });
  });
}
