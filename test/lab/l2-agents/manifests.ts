import type { Manifest } from '../host/objects.ts';

/** The pool. The first Service gets its first addresses. */
export const pool = { ipv4: '10.77.1.1-10.77.1.99', ipv6: 'fd77::1:1-fd77::1:99' } as const;

export const nodeName = (at: number): string => `n${at}`;
export const nodeAddress = (at: number): string => `10.77.0.${10 + at}`;
export const nodeAddress6 = (at: number): string => `fd77::${10 + at}`;
export const podAddress = (at: number): string => `10.244.${at}.10`;
export const podAddress6 = (at: number): string => `fd44:${at}::10`;

export interface ServiceOptions {
  readonly name?: string;
  /** The number of the Service, from which its ClusterIPs come. */
  readonly number?: number;
  /** The nodes whose pods serve. */
  readonly pods: readonly number[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** More fields of the spec. */
  readonly spec?: Manifest;
}

/** Returns a Service of type LoadBalancer of both families with TCP and UDP port 80, and its EndpointSlices. */
export function serviceManifests({ name = 'web', number = 1, pods, annotations = {}, spec = {} }: ServiceOptions): Manifest[] {
  const protocols = ['TCP', 'UDP'] as const;
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'shop', name, annotations },
      spec: {
        type: 'LoadBalancer',
        ipFamilyPolicy: 'RequireDualStack',
        ipFamilies: ['IPv4', 'IPv6'],
        clusterIPs: [`10.96.0.${number}`, `fd96::${number}`],
        ports: protocols.map((protocol) => ({
          name: protocol.toLowerCase(),
          protocol,
          port: 80,
          targetPort: 8080,
          nodePort: 30_000 + 2 * number + protocols.indexOf(protocol),
        })),
        ...spec,
      },
    },
    ...([4, 6] as const).map((family) => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { namespace: 'shop', name: `${name}-v${family}`, labels: { 'kubernetes.io/service-name': name } },
      addressType: `IPv${family}`,
      ports: protocols.map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: 8080 })),
      endpoints: pods.map((at) => ({
        addresses: [family === 4 ? podAddress(at) : podAddress6(at)],
        nodeName: nodeName(at),
        conditions: { ready: true },
      })),
    })),
  ];
}

export const nodeManifest = (at: number, more: Manifest = {}): Manifest => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: nodeName(at), labels: { 'kubernetes.io/hostname': nodeName(at) } },
  spec: { podCIDRs: [`10.244.${at}.0/24`, `fd44:${at}::/64`] },
  status: { addresses: [nodeAddress(at), nodeAddress6(at)].map((address) => ({ type: 'InternalIP', address })) },
  ...more,
});

/** Returns the pool and an L2Advertisement of it. `spec` is the advertisement's. */
export const announcementManifests = (spec: Manifest = {}): Manifest[] => [
  {
    apiVersion: 'herald.dev/v1alpha1',
    kind: 'IPAddressPool',
    metadata: { name: 'segment' },
    spec: { addresses: [pool.ipv4, pool.ipv6], avoidBuggyIPs: true },
  },
  { apiVersion: 'herald.dev/v1alpha1', kind: 'L2Advertisement', metadata: { name: 'segment' }, spec },
];

/** Returns the part of an L2Advertisement that ranks the nodes of the lab by their numbers, the first one best. */
export const rankedByNumber: Manifest = {
  preferredNodeSelectors: [3, 2, 1].map((weight, at) => ({
    weight,
    preference: { matchLabels: { 'kubernetes.io/hostname': nodeName(at) } },
  })),
};

/** Settings of the HeraldConfig with which connections survive a change of the owner. */
export const directReturn: Manifest = { consistentHashing: true, directReturn: true };
