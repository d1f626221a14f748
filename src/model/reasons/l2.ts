import type { OnNode } from './announcement.ts';
import { reasonEntry, type Numbers, type Texts } from './entry.ts';

export interface OnConflict extends OnNode {
  readonly address: string;
  /** The MAC address of the other host. */
  readonly linkAddress: string;
  readonly interface: string;
}

const takeFromHost = ({ address }: OnConflict): string => `take ${address} from that host, or leave it out of the IPAddressPool`;

/** Why an address is not announced by ARP and NDP, or not as it should be. */
export const l2Reasons = {
  L2NoCandidate: reasonEntry({
    brief: 'No node can announce the address by ARP and NDP',
    // `first` is the sentence about the first node by name, or that there is no node.
    // `remedy`: the fix of the first node's reason. Older agents give none.
    says: (d: Texts<'advertisements' | 'first'> & Numbers<'nodes'> & { readonly remedy?: string }) =>
      `none of ${d.nodes} nodes can announce the address for ${d.advertisements}: ${d.first}`,
    fix: (d) => d.remedy ?? `make one node fit ${d.advertisements}: nodeSelectors, interfaces, or a network that contains the address`,
  }),
  L2NoInterface: reasonEntry({
    brief: 'The node has no interface for the address',
    // `setting`: the field of HeraldConfig by which the address is answered, without an L2Advertisement.
    says: (d: OnNode & Texts<'address' | 'wanted' | 'has'> & { readonly setting?: string }) =>
      `node "${d.node}" has no interface for ${d.address}: ${d.wanted}; its links: ${d.has}`,
    fix: (d) =>
      d.setting === undefined
        ? `connect node "${d.node}" to the network of ${d.address}, or name its interface in spec.interfaces of the L2Advertisement`
        : `connect node "${d.node}" to the network of ${d.address}; without it the node announces the address to routers only`,
  }),
  L2LinksNotReported: reasonEntry({
    brief: 'The node has not reported its links yet',
    says: (d: OnNode) => `the agent of node "${d.node}" has not reported its links`,
    fix: (d) => `check that an agent of this version runs on node "${d.node}": herald status`,
  }),
  L2NotOwner: reasonEntry({
    brief: 'Another node answers for the address',
    says: (d: OnNode & Texts<'owner'>) => `node "${d.owner}" answers for the address; node "${d.node}" takes over when it fails`,
    fix: () => '',
  }),
  L2AnswersInstead: reasonEntry({
    brief: 'A node answers for the address that is not the best placed one',
    says: (d: OnNode & Texts<'address' | 'best' | 'because'>) =>
      `node "${d.node}" answers for ${d.address} although node "${d.best}" is better placed: ${d.because}`,
    fix: () => '',
  }),
  L2BeyondCandidates: reasonEntry({
    brief: 'Enough other nodes stand ready for the address',
    says: (d: OnNode & Numbers<'most'>) =>
      `at most ${d.most} nodes of a link stand ready for an address, and node "${d.node}" is not one of them`,
    fix: () => '',
  }),
  L2NobodyAsks: reasonEntry({
    brief: 'No host has asked for the address since the node claimed it',
    says: (d: OnNode & Texts<'interface' | 'protocol'>) =>
      `no ${d.protocol} request for it has reached ${d.interface} of node "${d.node}" since the claim`,
    fix: (d) =>
      `if clients do not reach it, check that ${d.interface} is in their VLAN; on WiFi or a bridge that withholds broadcasts set promiscuous: true in the L2Advertisement; ` +
      'for IPv6 check multicast (MLD) snooping of the switch',
  }),
  L2AddressConflict: reasonEntry({
    brief: 'Another host uses the address, so no node announces it',
    says: (d: OnConflict) => `${d.linkAddress} on ${d.interface} of node "${d.node}" uses ${d.address} too: it is not announced`,
    fix: takeFromHost,
  }),
  L2AddressContested: reasonEntry({
    brief: 'Another host uses the address, and a node answers for it too',
    says: (d: OnConflict) =>
      `${d.linkAddress} on ${d.interface} of node "${d.node}" uses ${d.address} too: the node answers and announces it again, and clients reach whichever they heard last`,
    fix: takeFromHost,
  }),
  L2TwoOwners: reasonEntry({
    brief: 'Two nodes answer for the address, because they do not hear each other',
    says: (d: OnNode & Texts<'address' | 'interface' | 'other'>) =>
      `nodes "${d.node}" (${d.interface}) and "${d.other}" both answer for ${d.address}: they do not hear each other on the link, and each client reaches the one that it hears`,
    fix: (d) => `check the switches and VLANs between ${d.interface} of node "${d.node}" and node "${d.other}": the link is split`,
  }),
  L2NoCarrier: reasonEntry({
    brief: 'An interface of the node has no carrier, so it announces nothing there',
    // `networks`: those of the interface, separated by commas.
    says: (d: OnNode & Texts<'interface' | 'networks'>) =>
      `${d.interface} of node "${d.node}"${d.networks === '' ? '' : ` (${d.networks})`} has no carrier: the node answers no ARP and NDP requests there`,
    fix: (d) => `check the cable of ${d.interface} on node "${d.node}", and the port of the switch`,
  }),
  L2Isolated: reasonEntry({
    brief: 'The node hears no other candidate on the link',
    says: (d: OnNode & Texts<'interface'> & Numbers<'others'>) =>
      `node "${d.node}" ${d.others === 0 ? 'hears no other candidate' : `lost BFD with ${d.others === 1 ? 'the only other candidate' : `all ${d.others} other candidates`} at once`} on ${d.interface}: it keeps what it announces, and takes nothing else without asking the link`,
    fix: (d) => `check the link of ${d.interface} on node "${d.node}"; where UDP port 3784 is filtered, let the nodes exchange it`,
  }),
  L2NoSocket: reasonEntry({
    brief: 'The agent can neither hear nor send ARP and NDP on the link',
    says: (d: OnNode & Texts<'interface' | 'error'>) =>
      `node "${d.node}" can neither hear nor send ARP and NDP on ${d.interface}: ${d.error}`,
    fix: () => "add NET_RAW to securityContext.capabilities.add of the agent's container, as in the shipped DaemonSet",
  }),
  L2NoPeerLiveness: reasonEntry({
    brief: 'BFD between candidates does not come up',
    says: (d: OnNode & Texts<'interface'>) =>
      `no BFD session of node "${d.node}" with another candidate on ${d.interface} ever came up, so a failed node is noticed by ARP and NDP only, in 2 to 3 s`,
    fix: () => 'let UDP port 3784 pass between the nodes',
  }),
  L2PeerWithoutBFD: reasonEntry({
    brief: 'Another candidate answers ARP and NDP, but BFD with it is down',
    says: (d: OnNode & Texts<'interface' | 'other'>) =>
      `node "${d.other}" answers node "${d.node}" on ${d.interface} by ARP and NDP, but BFD between them is down, so its failure is noticed in 2 to 3 s`,
    fix: (d) => `let UDP port 3784 pass between "${d.node}" and "${d.other}", and see that both have processor time`,
  }),
  L2Disputed: reasonEntry({
    brief: 'Another node does not hear that this one announces an address',
    says: (d: OnNode & Texts<'other' | 'address' | 'interface'>) =>
      `node "${d.other}" claimed ${d.address} on ${d.interface} again and again, although node "${d.node}" announced it: what "${d.node}" sends there does not reach "${d.other}"`,
    fix: (d) => `check the link from node "${d.node}" (${d.interface}) to node "${d.other}": it loses packets in one direction`,
  }),
  L2Wireless: reasonEntry({
    brief: 'The node announces addresses on a Wi-Fi interface',
    says: (d: OnNode & Texts<'interface'>) =>
      `${d.interface} of node "${d.node}" is Wi-Fi: access points deliver the broadcasts and multicasts by which clients ask for an address only in part`,
    fix: (d) => `set promiscuous: true in the L2Advertisement, or connect node "${d.node}" by a cable`,
  }),
  L2BondRewrites: reasonEntry({
    brief: 'A bond changes the ARP replies of the node',
    says: (d: OnNode & Texts<'interface'>) =>
      `${d.interface} of node "${d.node}" is a bond in mode balance-alb, which writes the link-layer address of one of its ports into ARP replies: clients may learn an address that changes with the port`,
    fix: (d) => `give ${d.interface} another mode, such as active-backup or 802.3ad`,
  }),
  L2KernelAnswers: reasonEntry({
    brief: 'The kernel of a node answers for the address',
    says: (d: OnNode & Texts<'address' | 'because' | 'remedy'>) =>
      `the kernel of node "${d.node}" answers for ${d.address} by itself: ${d.because}`,
    fix: (d) => `on node "${d.node}": ${d.remedy}`,
  }),
};
