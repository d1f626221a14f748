import { reasonEntry, type Numbers, type Texts } from './entry.ts';

/**
 * Reasons why packets are not passed on to the node of their backend, or only in part. Such packets are forwarded without direct server
 * return.
 */
export const directReturnReasons = {
  DirectReturnNeedsHashing: reasonEntry({
    brief: 'Direct server return needs consistent hashing',
    says: () =>
      'direct server return needs consistent hashing, with which every node finds the same backend; without it the Service is forwarded by address translation',
    fix: () =>
      'set the annotation herald.dev/load-balancing: consistent (with externalTrafficPolicy: Cluster), or remove herald.dev/direct-return',
  }),
  DirectReturnNotReported: reasonEntry({
    brief: 'A node does not say whether it takes part in direct server return',
    says: (d: Texts<'node'>) => `node "${d.node}" has not reported whether it takes part in direct server return`,
    fix: () => 'nothing to do: the node reports soon after its agent has started; until then packets for it are translated',
  }),
  DirectReturnNoWay: reasonEntry({
    brief: 'Packets cannot be passed on to a node',
    says: (d: Texts<'node' | 'mode' | 'passes' | 'receives' | 'why'>) =>
      `packets for node "${d.node}" are not passed on but translated, and its backends do not see the client's address: ${d.why} (mode ${d.mode}; this node passes on by: ${d.passes || 'nothing'}; "${d.node}" receives by: ${d.receives || 'nothing'})`,
    fix: () => 'see the reports of both nodes in `herald explain`; directReturnMode: auto uses whatever works',
  }),
  DirectReturnNotOnLink: reasonEntry({
    brief: 'The node has no link with other nodes',
    says: (d: Texts<'addresses' | 'mode'>) =>
      `no interface has a network around ${d.addresses}, so no other node is on the same link, which mode ${d.mode} needs`,
    fix: () => 'set directReturnMode to auto or vxlan',
  }),
  DirectReturnStrictSource: reasonEntry({
    brief: 'The reverse-path filter drops packets that other nodes pass on',
    says: (d: Texts<'interface'>) =>
      `the reverse-path filter of ${d.interface} is strict: packets that other nodes pass on come from clients, and the route back to a client may use another interface. No packets are passed on to this node by ${d.interface}`,
    fix: (d) => `run on the node: sysctl -w net.ipv4.conf.${d.interface.replaceAll('.', '/')}.rp_filter=2`,
  }),
  DirectReturnFiltered: reasonEntry({
    brief: 'Another program drops packets on their way to other nodes',
    says: (d: Texts<'chain'>) =>
      `chain ${d.chain} drops packets that are passed on by a route, because their connections are not tracked (ct state untracked): this node passes packets on at ingress only, or not at all`,
    fix: (d) => `let packets with "ct state untracked" through ${d.chain}, or use directReturnMode: l2`,
  }),
  DirectReturnUnsupported: reasonEntry({
    brief: 'The node lacks what a mode of direct server return needs',
    says: (d: Texts<'mode' | 'error'>) => `mode ${d.mode} of direct server return is not possible on this node: ${d.error}`,
    fix: (d) =>
      ({
        l2: 'load the kernel modules nf_tables and nft_fwd_netdev, and install the command nft; or use another mode',
        route: 'install iproute2 (the commands ip and bridge)',
        vxlan: 'run on the node: modprobe vxlan; install iproute2 (the commands ip and bridge); or use another mode',
      })[d.mode] ?? 'use another mode',
  }),
  DirectReturnSmallPackets: reasonEntry({
    brief: 'The tunnel between nodes leaves little room for packets',
    says: (d: Texts<'interface'> & Numbers<'mtu' | 'needed'>) =>
      `${d.interface} takes packets of ${d.mtu} octets, too small for VXLAN around a packet of the minimum size: no packets are passed on through the tunnel`,
    fix: (d) => `give ${d.interface} an MTU of at least ${d.needed}, or use mode l2 or route`,
  }),
};
