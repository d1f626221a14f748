import { soundNodes, type Manifest } from './objects.ts';

export const nodes = Array.from({ length: 9 }, (_, index) => `node${index + 1}`);

/** The Nodes, a session of each with both ToRs in each family, and the settings. One Node has no session, and two have no machine. */
export function fabric(): Manifest[] {
  return [...fabricOf(nodes), { apiVersion: 'v1', kind: 'Node', metadata: { name: 'lonely', labels: { role: 'lonely' } } }, misplaced];
}

/** The same for these nodes only. */
export function fabricOf(names: readonly string[], settings: Manifest = {}): Manifest[] {
  const sessions = [1, 2].flatMap((tor) => [
    { name: `tor${tor}-v4`, peerAddress: `10.${tor}.0.1` },
    { name: `tor${tor}-v6`, peerAddress: `fd00:${tor}::1` },
  ]);
  return [
    ...names.map((name) => node(name, soundNodes.some((sound) => sound === name) ? 'sound' : 'faulty')),
    ...sessions.map(({ name, peerAddress }) => ({
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'BGPPeer',
      metadata: { name },
      spec: {
        myASN: 64512,
        peerASN: 65100 + Number(name.slice(3, 4)),
        peerAddress,
        holdTime: '9s',
        keepaliveTime: '3s',
        connectTime: '1s',
        nodeSelectors: [{ matchLabels: { role: 'sound' } }, { matchLabels: { role: 'faulty' } }],
      },
    })),
    {
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'HeraldConfig',
      metadata: { name: 'default' },
      spec: { defaultClass: false, serviceCIDRs: ['10.96.0.0/16', 'fd00:96::/112'], drainSeconds: 2, ...settings },
    },
  ];
}

const misplaced = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'misplaced', labels: { role: 'faulty', 'kubernetes.io/hostname': 'misplaced' } },
  status: { addresses: [{ type: 'InternalIP', address: '10.0.1.1' }] },
};

function node(name: string, role: string): Manifest {
  const index = name.replace('node', '');
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { role, 'kubernetes.io/hostname': name } },
    spec: { podCIDRs: [`10.244.${index}.0/24`, `fd00:244:${index}::/64`] },
    status: {
      addresses: [
        { type: 'InternalIP', address: `10.0.0.1${index}` },
        { type: 'InternalIP', address: `fd00::1${index}` },
      ],
    },
  };
}
