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
    verdict:
      'Not known whether it is served: no agent reports for node "node4". Start the agent: the pod of DaemonSet herald-agent on node4; outside a cluster, herald agent --node node4.',
    before: (place) => onNode(place, 'node4'),
    act: async ({ herald }) => herald.agent('node4').kill('SIGKILL'),
    undo: async ({ herald }) => void herald.startAgent('node4'),
  },
  {
    name: 'agent-stopped',
    mistake: 'The agent of the only node was stopped.',
    code: 'AgentStopped',
    condition: 'Announced',
    verdict:
      'Not known whether it is served: the agent of node "node5" was stopped: it announces nothing; routers with graceful restart keep its routes until their restart time ends. Start it again: the pod of DaemonSet herald-agent on node5; outside a cluster, herald agent --node node5.',
    before: (place) => onNode(place, 'node5'),
    act: async ({ herald }) => void (await herald.agent('node5').stop()),
    undo: async ({ herald }) => void herald.startAgent('node5'),
  },
  {
    name: 'agent-without-capability',
    mistake: 'The agent of the only node runs without the capability NET_ADMIN.',
    code: 'DataPlaneNotPermitted',
    condition: 'Programmed',
    verdict:
      'Not served: the agent of node "node6" runs, but the kernel does not let it read or write rules: it lacks the capability NET_ADMIN. Add NET_ADMIN to securityContext.capabilities.add of the agent\'s container, as in the shipped DaemonSet; outside Kubernetes, start the agent as root.',
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
    verdict:
      'Announced over IPv6, but not served over IPv4 at 198.18.51.1: node "node7" does not forward IPv4 (net.ipv4.ip_forward is 0 and should be 1: the node drops every IPv4 packet that is not its own), but no node that does announces the address: it stays announced there. Run on the node: sysctl -w net.ipv4.ip_forward=1.',
    alsoSays: {
      object: 'Node/node7',
      code: 'KernelSettingWrong',
      line: 'net.ipv4.ip_forward is 0 and should be 1: the node drops every IPv4 packet that is not its own. Run on the node: sysctl -w net.ipv4.ip_forward=1.',
    },
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
    verdict:
      'Not served: node "node8" does not forward IPv4 (chain forward of table inet firewall drops the packets of Services that none of its other rules accepts: its policy is drop), but no node that does announces the address: it stays announced there. Run: nft insert rule inet firewall forward ct status dnat accept && nft insert rule inet firewall forward ip daddr 10.244.8.0/24 accept && nft insert rule inet firewall forward ip saddr 10.244.8.0/24 ct state established,related accept && nft insert rule inet firewall forward ip6 daddr fd00:244:8::/64 accept && nft insert rule inet firewall forward ip6 saddr fd00:244:8::/64 ct state established,related accept.',
    alsoSays: {
      object: 'Node/node8',
      code: 'ForwardFilterDrops',
      line: 'Chain forward of table inet firewall drops the packets of Services that none of its other rules accepts: its policy is drop. Run: nft insert rule inet firewall forward ct status dnat accept && nft insert rule inet firewall forward ip daddr 10.244.8.0/24 accept && nft insert rule inet firewall forward ip saddr 10.244.8.0/24 ct state established,related accept && nft insert rule inet firewall forward ip6 daddr fd00:244:8::/64 accept && nft insert rule inet firewall forward ip6 saddr fd00:244:8::/64 ct state established,related accept.',
    },
    before: (place) => onNode(place, 'node8'),
    act: ({ lab }) => nft(lab, 'node8', 'table inet firewall { chain forward { type filter hook forward priority 0; policy drop; }; }'),
    undo: ({ lab }) => nft(lab, 'node8', 'delete table inet firewall'),
  },
  {
    name: 'foreign-dnat',
    mistake: 'Another program on the only node translates the address of the Service before Herald does.',
    code: 'ForeignNat',
    condition: 'Programmed',
    verdict:
      "Announced over IPv6, but not served over IPv4 at 198.18.53.1: chain pre of table ip other runs before Herald's and may translate packets to 198.18.53.1 TCP 80: ip daddr 198.18.53.1 tcp dport 80 dnat (on node9). Remove the rule with the program that made it (nft -a list table ip other), or narrow its destination.",
    before: (place) => onNode(place, 'node9'),
    act: ({ lab }, place) => {
      const [address] = poolAddresses(place, 1);
      const rule = `ip daddr ${address} tcp dport 80 dnat to 10.244.9.99`;
      return nft(lab, 'node9', `table ip other { chain pre { type nat hook prerouting priority -150; ${rule}; }; }`);
    },
    undo: ({ lab }) => nft(lab, 'node9', 'delete table ip other'),
  },
  {
    name: 'wrong-host',
    mistake: 'The agent of the only node that may announce the address runs on the host of another node.',
    code: 'NodeNotThisHost',
    condition: 'Announced',
    verdict:
      'Not served: the agent with --node misplaced runs on a host that has no InternalIP of Node "misplaced" (10.0.1.1): it announces nothing. Start the agent with --node and the name of its own host\'s Node, or correct status.addresses of Node "misplaced".',
    before: (place) => [namespace(place)],
    after: (place) => onNode(place, 'misplaced', 'node2'),
    // The agent of that host has stopped, by an earlier case.
    act: async ({ herald }) => void herald.startAgentOn('node5', 'misplaced'),
    undo: async ({ herald }) => void (await herald.agent('misplaced').stop()),
  },
  {
    name: 'one-of-two-held-back',
    mistake: 'The policy of a FORWARD chain on one of two nodes is drop.',
    code: 'NodeHeldBack',
    verdict:
      'Announced, but not by every node: node "node8" does not forward IPv4 (chain forward of table inet firewall drops the packets of Services that none of its other rules accepts: its policy is drop): it has withdrawn its IPv4 routes; node "node8" does not forward IPv6 (chain forward of table inet firewall drops the packets of Services that none of its other rules accepts: its policy is drop): it has withdrawn its IPv6 routes. Run: nft insert rule inet firewall forward ct status dnat accept && nft insert rule inet firewall forward ip daddr 10.244.8.0/24 accept && nft insert rule inet firewall forward ip saddr 10.244.8.0/24 ct state established,related accept && nft insert rule inet firewall forward ip6 daddr fd00:244:8::/64 accept && nft insert rule inet firewall forward ip6 saddr fd00:244:8::/64 ct state established,related accept.',
    // A node that does not forward does not let packets through to its pods either.
    before: (place) => onNodes(place, ['node1', 'node8'], 'node1'),
    // After that of an earlier case, and as strict.
    act: ({ lab }) => nft(lab, 'node8', 'table inet second { chain forward { type filter hook forward priority 10; policy drop; }; }'),
    undo: ({ lab }) => nft(lab, 'node8', 'delete table inet second'),
  },
  {
    name: 'endpoints-cut-off',
    mistake: 'The policy of a FORWARD chain on one of two nodes is drop, and each node has a pod of the Service.',
    code: 'EndpointsCutOff',
    condition: 'Programmed',
    verdict:
      'Not fully served: node "node8" does not forward IPv4 (chain forward of table inet firewall drops the packets of Services that none of its other rules accepts: its policy is drop): connections that other nodes send to its endpoints time out; node "node8" does not forward IPv6 (chain forward of table inet firewall drops the packets of Services that none of its other rules accepts: its policy is drop): connections that other nodes send to its endpoints time out. Run: nft insert rule inet firewall forward ct status dnat accept && nft insert rule inet firewall forward ip daddr 10.244.8.0/24 accept && nft insert rule inet firewall forward ip saddr 10.244.8.0/24 ct state established,related accept && nft insert rule inet firewall forward ip6 daddr fd00:244:8::/64 accept && nft insert rule inet firewall forward ip6 saddr fd00:244:8::/64 ct state established,related accept.',
    before: (place) => onNodes(place, ['node1', 'node8'], 'node1', 'node8'),
    // After that of an earlier case, and as strict.
    act: ({ lab }) => nft(lab, 'node8', 'table inet third { chain forward { type filter hook forward priority 20; policy drop; }; }'),
    undo: ({ lab }) => nft(lab, 'node8', 'delete table inet third'),
  },
];

/** A Service that one node may announce, with its pod on that node or another. */
function onNode(place: Place, node: string, nodeOfPod = node): Manifest[] {
  return onNodes(place, [node], nodeOfPod);
}

/** A Service that several nodes announce, with pods on these. */
function onNodes(place: Place, nodes: readonly string[], ...nodesOfPods: readonly string[]): Manifest[] {
  const nodeSelectors = nodes.map((node) => ({ matchLabels: { 'kubernetes.io/hostname': node } }));
  return [namespace(place), pool(place), advertisement(place, { spec: { nodeSelectors } }), ...service(place, {}, { nodes: nodesOfPods })];
}

async function setForwarding(lab: Scene['lab'], value: string): Promise<void> {
  await lab.node('node7').exec(['sysctl', '-qw', `net.ipv4.ip_forward=${value}`]);
}

async function nft(lab: Scene['lab'], node: string, command: string): Promise<void> {
  await lab.node(node).exec(['nft', command]);
}
