import { reasonEntry } from './entry.ts';

/** Why packets are not, or not well, passed on to the node of their backend. Such packets are forwarded as without direct server return. */
export const directReturnReasons = {
  DirectReturnNeedsHashing: reasonEntry({
    brief: 'Direct server return needs consistent hashing',
    says: () =>
      'direct server return needs consistent hashing, by which every node finds the same backend: the Service is forwarded by address translation',
    fix: () =>
      'set the annotation herald.dev/load-balancing: consistent (with externalTrafficPolicy: Cluster), or remove herald.dev/direct-return',
  }),
  DirectReturnNotReported: reasonEntry({
    brief: 'A node does not say whether it takes part in direct server return',
    says: (d: { readonly node: string }) => `node "${d.node}" has not reported whether it takes part in direct server return`,
    fix: () => 'it does so soon after its agent has started; packets for it are translated until then',
  }),
  DirectReturnNoWay: reasonEntry({
    brief: 'There is no way to pass packets on to a node',
    says: (d: { readonly node: string; readonly mode: string; readonly passes: string; readonly receives: string; readonly why: string }) =>
      `packets for node "${d.node}" are not passed on but translated, and its backends do not see the client's address: ${d.why} (mode ${d.mode}; this node passes on by: ${d.passes || 'nothing'}; "${d.node}" receives by: ${d.receives || 'nothing'})`,
    fix: () => 'see what both nodes report of themselves in `herald explain`; directReturnMode: auto takes whatever works',
  }),
  DirectReturnNotOnLink: reasonEntry({
    brief: 'The node has no link with other nodes',
    says: (d: { readonly addresses: string; readonly mode: string }) =>
      `no interface has a network around ${d.addresses}, so no other node is on the same link, which mode ${d.mode} needs`,
    fix: () => 'set directReturnMode to auto or vxlan',
  }),
  DirectReturnStrictSource: reasonEntry({
    brief: 'The reverse-path filter drops packets that other nodes pass on',
    says: (d: { readonly interface: string }) =>
      `the reverse-path filter of ${d.interface} is strict: a packet that another node passes on comes from a client, whose way back may be another interface. Nothing is passed on to this node by ${d.interface}`,
    fix: (d) => `run on the node: sysctl -w net.ipv4.conf.${d.interface.replaceAll('.', '/')}.rp_filter=2`,
  }),
  DirectReturnFiltered: reasonEntry({
    brief: 'Another program drops packets on their way to other nodes',
    says: (d: { readonly chain: string }) =>
      `chain ${d.chain} drops packets that are passed on by a route, which no connection is tracked of (ct state untracked): this node passes on at ingress only, or not at all`,
    fix: (d) => `let packets with "ct state untracked" through ${d.chain}, or use directReturnMode: l2`,
  }),
  DirectReturnUnsupported: reasonEntry({
    brief: 'The node lacks what a mode of direct server return needs',
    says: (d: { readonly mode: string; readonly error: string }) =>
      `mode ${d.mode} of direct server return is not possible on this node: ${d.error}`,
    fix: (d) =>
      ({
        l2: 'load the kernel modules nf_tables and nft_fwd_netdev, and install the command nft; or use another mode',
        route: 'install iproute2 (the commands ip and bridge)',
        vxlan: 'run on the node: modprobe vxlan; install iproute2 (the commands ip and bridge); or use another mode',
      })[d.mode] ?? 'use another mode',
  }),
  DirectReturnNoPickUp: reasonEntry({
    brief: 'Connections that change their node are not picked up',
    says: () =>
      'net.netfilter.nf_conntrack_tcp_loose is 0: a connection that comes to this node in its middle, as routers or backends have changed, is not translated',
    fix: () => 'run on the node: sysctl -w net.netfilter.nf_conntrack_tcp_loose=1',
  }),
  DirectReturnSmallPackets: reasonEntry({
    brief: 'The tunnel between nodes leaves little room for packets',
    says: (d: { readonly interface: string; readonly mtu: number; readonly needed: number }) =>
      `${d.interface} takes packets of ${d.mtu} octets, too little for VXLAN around a packet of the least size: nothing is passed on through the tunnel`,
    fix: (d) => `give ${d.interface} an MTU of at least ${d.needed}, or use mode l2 or route`,
  }),
};
