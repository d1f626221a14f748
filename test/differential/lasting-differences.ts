import { ingressOf, specOf, type Environment, type Objects, type ServicePort } from './objects.ts';
import type { LastingFlow } from './lasting.ts';
import { placeText } from './wire.ts';

/** The outcome for the flows of clients that had the same fate before the objects changed. */
export interface LastingCase {
  readonly flow: LastingFlow;
  /** The fate before the change, on both sides: "10.160.0.11:8080 as itself". */
  readonly fate: string;
  readonly kubeProxy: ReadonlySet<string>;
  readonly herald: ReadonlySet<string>;
  /** The objects after the change. */
  readonly objects: Objects;
  readonly environment: Environment;
}

/** A case in which Herald treats a continuing flow differently from kube-proxy on purpose. */
export interface LastingDifference {
  readonly name: string;
  readonly reason: string;
  readonly allows: (lasting: LastingCase) => boolean;
}

export const lastingDifferences: readonly LastingDifference[] = [
  {
    name: 'a TCP connection that began before its frontend starts again',
    reason: 'It has no reply, and the kernel would treat all further packets like the first one (kubernetes/kubernetes#48719).',
    allows: ({ flow, fate, kubeProxy, herald }) =>
      flow.protocol === 'TCP' &&
      endpointOf(fate) === placeText(flow.destination, flow.port) &&
      isOnly(kubeProxy, 'kept') &&
      !herald.has('kept'),
  },
  {
    name: 'flows of UDP and SCTP end with their endpoint, also with the last one, and with their frontend',
    reason: 'kube-proxy leaves the client with the removed endpoint for as long as the client sends (row 60).',
    allows: ({ flow, fate, kubeProxy, herald, objects }) =>
      flow.protocol !== 'TCP' && isOnly(kubeProxy, 'kept') && !herald.has('kept') && !isServed(flow, endpointOf(fate), objects),
  },
  {
    name: 'a TCP connection without an answer leaves an endpoint that gets no new connections',
    reason: 'kube-proxy leaves the client with the endpoint for two minutes (row 60). One that serves would have answered.',
    allows: ({ flow, kubeProxy, herald }) => flow.protocol === 'TCP' && isOnly(kubeProxy, 'kept') && !herald.has('kept'),
  },
  {
    name: 'a UDP flow that began before its NodePort continues when nodePortAddresses is a prefix and not an address',
    reason: 'Herald deletes flows by address and does not know which addresses of the prefix the node has. These flows time out.',
    allows: ({ flow, fate, kubeProxy, herald, environment }) =>
      environment.nodePortAddresses.some((prefix) => !/\/(?:32|128)$/.test(prefix)) &&
      flow.port >= 30_000 &&
      endpointOf(fate) === placeText(flow.destination, flow.port) &&
      isOnly(herald, 'kept') &&
      !kubeProxy.has('kept'),
  },
  {
    name: 'an external IP that no ExternalIPPolicy allows does not become a frontend later',
    reason: 'As for new flows (row 20).',
    allows: ({ flow, fate, herald, objects, environment }) =>
      !environment.externalIPsAllowed &&
      objects.services.some((service) => specOf(service).externalIPs?.includes(flow.destination) === true) &&
      endpointOf(fate) === placeText(flow.destination, flow.port) &&
      isOnly(herald, 'kept'),
  },
  {
    name: 'TCP flows that are refused later get a reset',
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

/** Returns true if the endpoint serves a Service port that has this frontend. */
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
