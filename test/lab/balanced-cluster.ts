import { stringify } from 'yaml';
import type { Lab } from './lab.ts';

/** Each way of balancing twice: with pods on all nodes, and with pods only on the nodes that are not lost. */
export const variants = [
  { name: 'direct-all', direct: true, everywhere: true },
  { name: 'translated-all', direct: false, everywhere: true },
  { name: 'direct-off', direct: true, everywhere: false },
  { name: 'translated-off', direct: false, everywhere: false },
] as const;
export type Variant = (typeof variants)[number];

export const nodes = ['node1', 'node2', 'node3'] as const;
/** The node that is lost. */
export const lostNode = 'node3';

/** Two pods on each node. All Services share them. */
export const pods = nodes.flatMap((node) => [1, 2].map((number) => ({ name: `${node}-${number}`, node })));

/**
 * Returns manifests of the Nodes by their addresses on tor1's network. The nodes share one link, so that they hand packets to each other
 * there.
 */
export function cluster(lab: Lab): string {
  const objects = nodes.map((name) => {
    const { plan } = lab.node(name);
    const { ipv4, ipv6 } = plan.uplinks.get('tor1') ?? plan.internal;
    return {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name },
      spec: { podCIDRs: [plan.podCidr.ipv4, plan.podCidr.ipv6] },
      status: { addresses: [ipv4, ipv6].map((address) => ({ type: 'InternalIP', address })) },
    };
  });
  return [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, ...objects].map((object) => stringify(object)).join('---\n');
}

/**
 * Returns manifests of the Services. Direct server return needs consistent hashing. The other Services choose pods at random and translate
 * the client's address.
 */
export function services(): string {
  return variants
    .map(({ name, direct }, index) =>
      stringify({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: {
          namespace: 'shop',
          name,
          annotations: direct
            ? { 'herald.dev/load-balancing': 'consistent', 'herald.dev/direct-return': 'true' }
            : { 'herald.dev/load-balancing': 'random' },
        },
        spec: {
          type: 'LoadBalancer',
          ipFamilyPolicy: 'RequireDualStack',
          ipFamilies: ['IPv4', 'IPv6'],
          clusterIPs: [`10.96.0.6${index}`, `fd00:96::6${index}`],
          ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }],
        },
      }),
    )
    .join('---\n');
}

/** Returns manifests of the EndpointSlices. `present` are the nodes whose pods are ready. */
export function slices(lab: Lab, present: readonly string[]): string {
  return variants
    .flatMap(({ name, everywhere }) =>
      (['ipv4', 'ipv6'] as const).map((family) =>
        stringify({
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: { namespace: 'shop', name: `${name}-${family}`, labels: { 'kubernetes.io/service-name': name } },
          addressType: family === 'ipv4' ? 'IPv4' : 'IPv6',
          ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
          endpoints: pods
            .filter(({ node }) => present.includes(node) && (everywhere || node !== lostNode))
            .map((pod) => ({ addresses: [lab.pod(pod.name).address[family]], nodeName: pod.node, conditions: { ready: true } })),
        }),
      ),
    )
    .join('---\n');
}
