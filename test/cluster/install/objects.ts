import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterPlan } from '../cluster/description.ts';
import { asNumbers, bfdMilliseconds } from '../cluster/topology.ts';

/** An object of Herald. */
export const herald = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
});

/**
 * A pool, the ToR as a peer in each family, and the advertisement of all addresses. With graceful restart and BFD, as docs/how-to/graceful-restart.md
 * advises, so that neither a restart nor the loss of a node costs more than it must.
 */
export function configuration({ families, tor }: ClusterPlan): readonly object[] {
  const networks = { ipv4: '10.200.0.0/24', ipv6: 'fd00:200::/112' } as const;
  return [
    herald('IPAddressPool', 'main', { addresses: families.map((family) => networks[family]) }),
    ...families.map((family) =>
      herald('BGPPeer', `tor-${family}`, {
        myASN: asNumbers.nodes,
        peerASN: asNumbers.tor,
        peerAddress: tor[family],
        holdTime: '90s',
        connectTime: '1s',
        enableGracefulRestart: true,
        bfdProfile: 'nodes',
      }),
    ),
    herald('BFDProfile', 'nodes', { transmitInterval: bfdMilliseconds, receiveInterval: bfdMilliseconds, detectMultiplier: 3 }),
    herald('BGPAdvertisement', 'main', { ipAddressPools: ['main'] }),
  ];
}

/** A pool of addresses on the nodes' network, which nodes announce by ARP and NDP. Only Services that ask for it use it. */
export function onLink({ families }: ClusterPlan): readonly object[] {
  const ranges = { ipv4: '172.30.0.200-172.30.0.209', ipv6: 'fd00:30::200-fd00:30::209' } as const;
  return [
    herald('IPAddressPool', 'lan', { addresses: families.map((family) => ranges[family]), autoAssign: false }),
    herald('L2Advertisement', 'lan', { ipAddressPools: ['lan'] }),
  ];
}

/** The lab's server (test/lab/pod-server.ts), which the lab's client asks, in pods that use the Node.js of Herald's image. */
export function webServer(image: string, replicas: number): readonly object[] {
  const labels = { app: 'web' };
  return [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'server', namespace: 'default' },
      data: { 'pod-server.mts': readFileSync(join(import.meta.dirname, '../../lab/pod-server.ts'), 'utf8') },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            // One on each node as far as possible, and soon elsewhere when its node is lost.
            topologySpreadConstraints: [
              {
                maxSkew: 1,
                topologyKey: 'kubernetes.io/hostname',
                whenUnsatisfiable: 'ScheduleAnyway',
                labelSelector: { matchLabels: labels },
              },
            ],
            terminationGracePeriodSeconds: 15,
            containers: [
              {
                name: 'web',
                image,
                command: ['/opt/herald/node_modules/.bin/node', '/server/pod-server.mts', '$(NAME)', '8080'],
                env: [{ name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
                readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
                // Nodes still send requests to a pod for a moment after its deletion. Every server needs this time.
                lifecycle: { preStop: { sleep: { seconds: 5 } } },
                volumeMounts: [{ name: 'server', mountPath: '/server' }],
              },
            ],
            volumes: [{ name: 'server', configMap: { name: 'server' } }],
          },
        },
      },
    },
  ];
}

/** A Service of type LoadBalancer for the web server, TCP and UDP, with an address of this pool. */
export function loadBalancer(name: string, pool?: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default', ...(pool === undefined ? {} : { annotations: { 'herald.dev/address-pool': pool } }) },
    spec: {
      type: 'LoadBalancer',
      ipFamilyPolicy: 'PreferDualStack',
      selector: { app: 'web' },
      ports: [
        { name: 'tcp', port: 80, targetPort: 8080, protocol: 'TCP' },
        { name: 'udp', port: 80, targetPort: 8080, protocol: 'UDP' },
      ],
    },
  };
}
