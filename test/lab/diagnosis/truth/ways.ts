import type { Place } from '../place.ts';
import { serve } from './pods.ts';
import {
  aliasAt,
  connectSteadily,
  failuresText,
  filter,
  isSilent,
  serviceTo,
  silentFix,
  withAlias,
  type Endpoint,
  type TruthCase,
} from './truth-case.ts';

/** Mistakes in the routes and filters between nodes and pods. */
export const wayTruths: readonly TruthCase[] = [
  {
    name: 'no-such-address-routed',
    mistake: 'The EndpointSlice has an address that no pod has, on another node.',
    code: 'EndpointSilent',
    verdict: `Not served: ${failuresText(['10.244.3.199:8080', '[fd00:244:3::199]:8080'], isSilent)}. ${silentFix('10.244.3.199', 'node3', 'node1')}`,
    before: (place) => serviceTo(place, [aliasAt(place, 'node3')]),
    prepare: withAlias('node3').prepare,
    after: (place) => serviceTo(place, [{ node: 'node3', addresses: ['10.244.3.199', 'fd00:244:3::199'] }]),
  },
  {
    name: 'no-such-address-on-link',
    mistake: "The EndpointSlice has an address that no pod has, on the link of a node's pods.",
    code: 'EndpointNotOnLink',
    verdict: `Not served: nobody answers on cni9 for the address of 10.244.1.250:8080 (on node1); nobody answers on cni9 for the address of [fd00:244:1::9:250]:8080 (on node1). Check that the pod runs and has this address; if it was deleted, its EndpointSlice is out of date.`,
    before: (place) => serviceTo(place, [onLink]),
    prepare: async ({ lab }) => {
      await lab.node('node1').ip(`link add cni9 type veth peer name eth9 netns ${lab.pod('web-1').namespace}`, 'link set cni9 up');
      await lab.node('node1').ip('addr add 10.244.1.241/28 dev cni9', 'addr add fd00:244:1::9:1/112 dev cni9 nodad');
      await lab.pod('web-1').ip('link set eth9 up', ...onLinkAddresses('add'));
    },
    act: async ({ lab }) => {
      await lab.pod('web-1').ip(...onLinkAddresses('del'));
      await lab.node('node1').ip('neigh flush dev cni9');
    },
    undo: ({ lab }) => lab.pod('web-1').ip(...onLinkAddresses('add')),
  },
  noRoute('unreachable-route', 22, 'unreachable', 'An unreachable route for pods stands in the FIB of one node.'),
  noRoute('blackhole-route', 23, 'blackhole', 'A blackhole route for pods stands in the FIB of one node.'),
  noRoute('prohibit-route', 24, 'prohibit', 'A prohibit route for pods stands in the FIB of one node.'),
  {
    name: 'unreachable-route-ipv6',
    mistake: 'An unreachable route for IPv6 pods stands in the FIB of one node.',
    isFull: true,
    code: 'EndpointUnroutable',
    verdict: `Not fully served: there is no way to [fd00:244:1::125]:8080: route unreachable fd00:244:1::125/128 (on node2). ${routeFix('fd00:244:1::125')}`,
    ...withAlias('node1'),
    act: ({ lab }, place) => lab.node('node2').ip(`route add unreachable ${aliasAt(place, 'node1').addresses[1]}/128`),
    undo: ({ lab }, place) => lab.node('node2').ip(`route del unreachable ${aliasAt(place, 'node1').addresses[1]}/128`),
  },
  {
    name: 'route-missing',
    mistake: "The network plugin's route to one node's pods is missing on another, which sends packets to its default gateway.",
    code: 'EndpointSilent',
    verdict: `Not fully served: ${failuresText(['10.245.1.126:8080', '[fd00:245:1::126]:8080'], isSilent, 'node2')}. ${silentFix('10.245.1.126', 'node1', 'node2')}`,
    ...overlay(),
    act: ({ lab }, place) => lab.node('node2').ip(...overlayRoutes(place, 'del')),
    undo: ({ lab }, place) => lab.node('node2').ip(...overlayRoutes(place, 'add')),
  },
  {
    name: 'route-missing-no-default',
    mistake: "The network plugin's route to one node's pods is missing on another, which has no other route to them.",
    code: 'EndpointUnroutable',
    verdict: `Not fully served: there is no way to 10.245.1.127:8080: no route (on node2); there is no way to [fd00:245:1::127]:8080: no route (on node2). ${routeFix('10.245.1.127')}`,
    ...overlay(),
    act: ({ lab }, place) => lab.node('node2').ip(...overlayRoutes(place, 'del'), ...overlayRoutes(place, 'add throw')),
    undo: ({ lab }, place) => lab.node('node2').ip(...overlayRoutes(place, 'del throw'), ...overlayRoutes(place, 'add')),
  },
  hostEndpoint('host-input-drops', 28, 'drop', 'A rule of the node drops connections to an endpoint in its own network.'),
  hostEndpoint('host-input-rejects', 29, 'reject', 'A rule of the node rejects connections to an endpoint in its own network, by ICMP.'),
  hostEndpoint(
    'host-input-resets',
    30,
    'reject with tcp reset',
    'A rule of the node resets connections to an endpoint in its own network.',
  ),
  {
    name: 'conditional-drop',
    // Both nodes must look in time, which they do not always on a machine that is busy with other suites; connection-checks.test.ts has it by itself.
    isFull: true,
    connect: connectSteadily,
    mistake: 'A rule drops new connections from the uplinks to the pod.',
    code: 'ServiceFiltered',
    verdict: `Not served: chain c of table inet case31 (hook forward) drops connections to 10.244.1.131:8080 (TCP): by rule 1 (iifname { tor1, tor2 } ip daddr 10.244.1.131 ct state new drop) (on node1); connections to 10.244.1.131:8080 get no answer (seen on node2). Run: nft insert rule inet case31 c ct status dnat accept && nft insert rule inet case31 c ip daddr 10.244.1.131 tcp dport 8080 accept.`,
    ...withAlias('node1'),
    ...filter('node1', 'forward', ofAlias('iifname { tor1, tor2 }', 'ct state new drop')),
  },
  {
    name: 'forward-drop-elsewhere',
    mistake: "A rule on the pod's node drops what other nodes pass on.",
    code: 'PassedFiltered',
    verdict: `Not served: ${passedText(32)}`,
    ...withAlias('node3'),
    ...filter('node3', 'forward', ofAlias('', 'drop', 'node3')),
  },
  {
    name: 'forward-drop-at-entry',
    // Both nodes must look in time, which they do not always on a machine that is busy with other suites; connection-checks.test.ts has it by itself.
    isFull: true,
    connect: connectSteadily,
    mistake: 'A rule on one of the nodes that announce the address drops what it passes on.',
    code: 'ServiceFiltered',
    verdict: `Not fully served: chain c of table inet case33 (hook forward) drops connections to 10.244.3.133:8080 (TCP): by rule 1 (ip daddr 10.244.3.133 meta l4proto tcp drop) (on node2); chain c of table inet case33 (hook forward) drops connections to [fd00:244:3::133]:8080 (TCP): by rule 2 (ip6 daddr fd00:244:3::133 meta l4proto tcp drop) (on node2). Run: nft insert rule inet case33 c ct status dnat accept.`,
    ...withAlias('node3'),
    ...filter('node2', 'forward', ofAlias('', 'meta l4proto tcp drop', 'node3')),
  },
  {
    name: 'answers-dropped-on-the-way',
    mistake: "A rule on the pod's node drops answers.",
    isFull: true,
    code: 'EndpointSilent',
    verdict: `Not served: ${failuresText(['10.244.3.134:8080', '[fd00:244:3::134]:8080'], isSilent)}. ${silentFix('10.244.3.134', 'node3', 'node1')}`,
    ...withAlias('node3'),
    ...filter('node3', 'forward', (place) => {
      const [ipv4, ipv6] = aliasAt(place, 'node3').addresses;
      return [`ip saddr ${ipv4} tcp sport 8080 drop`, `ip6 saddr ${ipv6} tcp sport 8080 drop`];
    }),
  },
  {
    name: 'reverse-path',
    mistake: 'Packets to the pod arrive at a second interface, which checks the reverse path strictly (rp_filter).',
    code: 'EndpointSilent',
    verdict: `Announced over IPv6, but not served over IPv4 at 198.18.35.1: ${failuresText(['10.244.3.135:8080'], isSilent)}. ${silentFix('10.244.3.135', 'node3', 'node1')}`,
    ...withAlias('node3'),
    act: async ({ lab }, place) => {
      const [ipv4] = aliasAt(place, 'node3').addresses;
      const pod = lab.pod('web-3');
      await lab.node('node3').ip(`link add back type veth peer name eth2 netns ${pod.namespace}`, 'link set back up');
      await pod.ip('link set eth2 up');
      await pod.exec(['sysctl', '-qw', 'net.ipv4.conf.eth2.rp_filter=1']);
      await lab.node('node3').ip(`route replace ${ipv4}/32 dev back src 10.0.0.13`);
    },
    undo: ({ lab }, place) =>
      lab.node('node3').ip(`route replace ${aliasAt(place, 'node3').addresses[0]}/32 dev p-web-3 src 10.0.0.13`, 'link del back'),
  },
];

function noRoute(name: string, index: number, type: string, mistake: string): TruthCase {
  const [ipv4, ipv6] = [`10.244.1.${100 + index}`, `fd00:244:1::${100 + index}`];
  const lines = (change: string): string[] => [`route ${change} ${type} ${ipv4}/32`, `route ${change} ${type} ${ipv6}/128`];
  return {
    name,
    mistake,
    code: 'EndpointUnroutable',
    verdict: `Not fully served: there is no way to ${ipv4}:8080: route ${type} ${ipv4}/32 (on node2); there is no way to [${ipv6}]:8080: route ${type} ${ipv6}/128 (on node2). ${routeFix(ipv4)}`,
    ...withAlias('node1'),
    act: ({ lab }) => lab.node('node2').ip(...lines('add')),
    undo: ({ lab }) => lab.node('node2').ip(...lines('del')),
  };
}

function routeFix(address: string, node = 'node2'): string {
  return `Repair the routes to pods on node "${node}", which the network plugin sets: ip route get ${address} shows them.`;
}

const onLink: Endpoint = { node: 'node1', addresses: ['10.244.1.250', 'fd00:244:1::9:250'] };
const onLinkAddresses = (change: string): string[] => [
  `addr ${change} 10.244.1.250/28 dev eth9`,
  `addr ${change} fd00:244:1::9:250/112 dev eth9${change === 'add' ? ' nodad' : ''}`,
];

/** An address of the pod of node1 that routers do not know, as with networks of plugins. The other nodes have routes to it. */
function overlay(): Required<Pick<TruthCase, 'before' | 'prepare'>> {
  return {
    before: (place) => serviceTo(place, [{ node: 'node1', addresses: overlayAddresses(place) }]),
    prepare: async ({ lab }, place) => {
      const [ipv4, ipv6] = overlayAddresses(place);
      await lab.pod('web-1').ip(`addr add ${ipv4}/32 dev eth0`, `addr add ${ipv6}/128 dev eth0 nodad`);
      await lab.node('node1').ip(`route add ${ipv4}/32 dev p-web-1 src 10.0.0.11`, `route add ${ipv6}/128 dev p-web-1 src fd00::11`);
      await lab.node('node2').ip(...overlayRoutes(place, 'add'));
    },
  };
}

const overlayAddresses = ({ index }: Place): readonly [string, string] => [`10.245.1.${100 + index}`, `fd00:245:1::${100 + index}`];

function overlayRoutes(place: Place, change: string): string[] {
  const [ipv4, ipv6] = overlayAddresses(place);
  const via = change.endsWith('throw') ? ['', ''] : [' via 10.1.0.11 src 10.0.0.12', ' via fd00:1::11 src fd00::12'];
  return [`route ${change} ${ipv4}/32${via[0]}`, `route ${change} ${ipv6}/128${via[1]}`];
}

/** An endpoint in the network of node3, at a port of the case. */
function hostEndpoint(name: string, index: number, verdict: string, mistake: string): TruthCase {
  const port = 9200 + index;
  const targets = [`10.0.0.13:${port}`, `[fd00::13]:${port}`];
  const insert = `nft insert rule inet case${index} c`;
  const effect = verdict === 'drop' ? 'drops' : 'rejects';
  return {
    name,
    mistake,
    code: 'PassedFiltered',
    verdict: `Not served: chain c of table inet case${index} (hook input) ${effect} connections to ${targets.join(' and ')} (TCP) that other nodes pass on: by rule 1 (tcp dport ${port} ${verdict.replace(' with tcp reset', '')}) (on node3). Run: ${insert} ip daddr 10.0.0.13 tcp dport ${port} accept && ${insert} ip6 daddr fd00::13 tcp dport ${port} accept.`,
    before: (place) => serviceTo(place, [{ node: 'node3', addresses: ['10.0.0.13', 'fd00::13'] }], [{ port: 80, targetPort: port }]),
    prepare: (scene) => serve(scene, port, 511, 'node3'),
    ...filter('node3', 'input', () => [`tcp dport ${port} ${verdict}`]),
  };
}

/** The cause and its fix when the first two rules on node3 drop what other nodes pass to the address of a case. */
function passedText(index: number): string {
  const [ipv4, ipv6] = [`10.244.3.${100 + index}`, `fd00:244:3::${100 + index}`];
  const where = `chain c of table inet case${index} (hook forward) drops connections to`;
  const causes = [
    `${where} ${ipv4}:8080 (TCP) that other nodes pass on: by rule 1 (ip daddr ${ipv4} drop) (on node3)`,
    `${where} [${ipv6}]:8080 (TCP) that other nodes pass on: by rule 2 (ip6 daddr ${ipv6} drop) (on node3)`,
  ];
  return `${causes.join('; ')}. Run: nft insert rule inet case${index} c ip daddr ${ipv4} tcp dport 8080 accept.`;
}

/** Rules for packets to the address of the case. */
function ofAlias(before: string, after: string, node = 'node1'): (place: Place) => readonly string[] {
  return (place) => {
    const [ipv4, ipv6] = aliasAt(place, node).addresses;
    return [`${before} ip daddr ${ipv4} ${after}`, `${before} ip6 daddr ${ipv6} ${after}`];
  };
}
