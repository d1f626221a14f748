import type { Misconfiguration, Scene } from '../misconfiguration.ts';
import { advertisement, namespace, pool, service, type Manifest } from '../objects.ts';
import { poolAddresses, type Place } from '../place.ts';

/** Mistakes on a host. Each case has a node of its own, the only one that announces the Service and the only one with an endpoint. */
export const nodeCases: readonly Misconfiguration[] = [
  {
    name: 'agent-killed',
    mistake: 'The agent of the only node was killed.',
    code: 'AgentSilent',
    condition: 'Announced',
    verdict: '',
    before: (place) => onNode(place, 'node4'),
    act: async ({ herald }) => herald.agent('node4').kill('SIGKILL'),
    undo: async ({ herald }) => void herald.startAgent('node4'),
  },
  {
    name: 'agent-stopped',
    mistake: 'The agent of the only node was stopped.',
    code: 'AgentStopped',
    condition: 'Announced',
    verdict: '',
    before: (place) => onNode(place, 'node5'),
    act: async ({ herald }) => void (await herald.agent('node5').stop()),
    undo: async ({ herald }) => void herald.startAgent('node5'),
  },
  {
    name: 'agent-without-capability',
    mistake: 'The agent of the only node runs without the capability NET_ADMIN.',
    code: 'DataPlaneNotPermitted',
    condition: 'Programmed',
    verdict: '',
    before: (place) => onNode(place, 'node6'),
    act: async ({ herald }) => {
      await herald.agent('node6').stop();
      herald.startAgentWithout('node6', 'net_admin');
    },
    undo: async ({ herald }) => {
      await herald.agent('node6').stop();
      herald.startAgent('node6');
    },
  },
  {
    name: 'forwarding-off',
    mistake: 'net.ipv4.ip_forward of the only node is 0, and the agent may not set it.',
    code: 'HeldBackLastNextHop',
    condition: 'Announced',
    isAnnounced: true,
    verdict: '',
    before: (place) => onNode(place, 'node7'),
    prepare: async ({ herald }) => herald.passOptions('node7', '--kernel-settings', 'report'),
    act: ({ lab }) => setForwarding(lab, '0'),
    undo: ({ lab }) => setForwarding(lab, '1'),
  },
  {
    name: 'filter-drops',
    mistake: 'The policy of a FORWARD chain on the only node is drop.',
    code: 'HeldBackLastNextHop',
    condition: 'Announced',
    isAnnounced: true,
    verdict: '',
    before: (place) => onNode(place, 'node8'),
    act: ({ lab }) => nft(lab, 'node8', 'table inet firewall { chain forward { type filter hook forward priority 0; policy drop; }; }'),
    undo: ({ lab }) => nft(lab, 'node8', 'delete table inet firewall'),
  },
  {
    name: 'foreign-dnat',
    mistake: 'Another program on the only node translates the address of the Service before Herald does.',
    code: 'ForeignNat',
    condition: 'Programmed',
    verdict: '',
    before: (place) => onNode(place, 'node9'),
    act: ({ lab }, place) => {
      const [address] = poolAddresses(place, 1);
      const rule = `ip daddr ${address} tcp dport 80 dnat to 10.244.9.99`;
      return nft(lab, 'node9', `table ip other { chain pre { type nat hook prerouting priority -150; ${rule}; }; }`);
    },
    undo: ({ lab }) => nft(lab, 'node9', 'delete table ip other'),
  },
];

function onNode(place: Place, node: string): Manifest[] {
  const nodeSelectors = [{ matchLabels: { 'kubernetes.io/hostname': node } }];
  return [namespace(place), pool(place), advertisement(place, { spec: { nodeSelectors } }), ...service(place, {}, { nodes: [node] })];
}

async function setForwarding(lab: Scene['lab'], value: string): Promise<void> {
  await lab.node('node7').exec(['sysctl', '-qw', `net.ipv4.ip_forward=${value}`]);
}

async function nft(lab: Scene['lab'], node: string, command: string): Promise<void> {
  await lab.node(node).exec(['nft', command]);
}
