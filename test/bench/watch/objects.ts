import type { LiveSession } from '../../../src/live/contract.ts';

const routers = [1, 2];
const families = [4, 6] as const;
const since = '2026-01-01T00:00:00Z';

const peerName = (router: number, family: 4 | 6): string => `tor${router}-v${family}`;
const peerAddress = (router: number, family: 4 | 6): string => (family === 4 ? `10.0.${router}.1` : `fd00:${router}::1`);
const ours = (kind: string, name: string, spec: object): object => ({ apiVersion: 'herald.dev/v1alpha1', kind, metadata: { name }, spec });

/** The sessions of the node with this index. */
export function sessionsOf(index: number): LiveSession[] {
  return routers.flatMap((router) =>
    families.map((family) => ({
      peer: peerName(router, family),
      address: peerAddress(router, family),
      state: 'Established' as const,
      since,
      localASN: 64_512,
      peerASN: 65_100 + router,
      prefixesSent: 100 + (index % 3),
      families: [{ family: `IPv${family}` as const, sent: 100, received: 0 }],
    })),
  );
}

/** Returns the objects to create: Nodes and pods of agents, reports, and what is shared.*/
export function objectsFor(count: number, firstPort: number): object[] {
  const nodes = Array.from({ length: count }, (_, index) => index);
  return [
    ...routers.flatMap((router) =>
      families.map((family) =>
        ours('BGPPeer', peerName(router, family), {
          myASN: 64_512,
          peerASN: 65_100 + router,
          peerAddress: peerAddress(router, family),
        }),
      ),
    ),
    ours('IPAddressPool', 'main', { addresses: ['198.51.100.0/24'] }),
    ours('BGPAdvertisement', 'all', {}),
    ...nodes.map((index) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name: `node-${index}` } })),
    ...nodes.map((index) => agentPod(index, firstPort + index)),
    ...nodes.map((index) => ({
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'NodeState',
      metadata: { name: `node-${index}` },
      status: { observedAt: new Date().toISOString(), sessions: sessionsOf(index) },
    })),
  ];
}

function agentPod(index: number, port: number): object {
  const labels = { 'app.kubernetes.io/name': 'herald', 'app.kubernetes.io/component': 'agent' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `herald-agent-${index}`, namespace: 'herald-system', labels },
    spec: {
      nodeName: `node-${index}`,
      hostNetwork: true,
      serviceAccountName: 'herald-agent',
      automountServiceAccountToken: false,
      containers: [{ name: 'agent', image: 'herald', ports: [{ name: 'metrics', containerPort: port, hostPort: port }] }],
    },
  };
}
