import { maximumErrorReceivers } from '../limits.ts';
import { slotText } from './classid.ts';
import { chain, segmentLadder, type NamedChain } from './layout.ts';
import { markMask, tunnelIndex, tunnelPrefix } from './direct-return-identity.ts';
import type { PartChains } from './parts.ts';

/**
 * Builds the constant part of direct server return in the table of one family.
 *
 * - Before connection tracking and after defragmentation, a packet for a backend of another node gets the mark that routes it there
 *   (../direct-return/paths.ts), and no conntrack entry. Packets that another node sent here, or that a pod sent, are never marked. So
 *   packets cannot circulate between nodes whose tables differ for a moment.
 * - Translation is the same as for every frontend, except that a backend on this node sees the client's address.
 * - Packets of the tunnel itself lose the mark of the packet inside. The rest of a mark is a digest of an address and may contain the
 *   bit by which Herald or kube-proxy masquerades. That would give the tunnel packet another source, and over IPv6 a wrong checksum.
 * - Replies tell clients the segment size that fits into the tunnel.
 * - An ICMP error that says that an answer was too long arrives at any node. This one need not track the connection, so it sends a copy to
 *   each other node, on the link or through the tunnel. The node of the pod finds its connection and delivers the error to the pod.
 *
 * `key`: the key of a frontend in a rule. `podMatches`: matches for packets of pods.
 */
export function directReturnChains(ip: 'ip' | 'ip6', key: string, podMatches: readonly string[], requestMasquerade: string): NamedChain[] {
  return [
    chain('external_direct', [
      // Replies to packets that a pod or the node itself sends must come back here first, to be translated back.
      ...podMatches.map((match) => `${match} goto external`),
      'fib saddr type local goto external',
      'meta priority vmap @draws',
      `${key} . meta priority @direct_local goto deliver`,
      requestMasquerade,
      'goto deliver',
    ]),
    chain('pass_on', [
      `iifname "${tunnelPrefix}*" return`,
      'ether saddr @node_links return',
      ...podMatches.map((match) => `${match} return`),
      `meta priority set ${key} map @frontends meta priority vmap @draws`,
      `meta mark set ${key} . meta priority map @passed_on notrack`,
    ]),
    chain('errors_on', []),
    chain(
      'segments',
      segmentLadder.map((size) => `${ip} saddr @segment_${size} tcp option maxseg size set ${size} return`),
    ),
  ];
}

/** Matches "packet too big" of path MTU discovery (RFC 1191 section 4, RFC 8201 section 4). */
const tooLong = {
  ip: 'icmp type destination-unreachable icmp code frag-needed',
  ip6: 'icmpv6 type packet-too-big',
} as const;

/** Anybody can send such errors. A connection needs one for each narrower link of its path. */
const errorsPerSecond = 100;

/** Builds the chains with a hook. They are needed while a frontend has direct server return, or a tunnel can receive packets. */
export function directReturnHooks(ip: 'ip' | 'ip6'): PartChains {
  const [mark, mask] = markMask.split('/');
  const before = [
    // A sender that can reach the tunnel's port must not reach other destinations through it.
    `iifname "${tunnelPrefix}*" ${ip} daddr != @direct_addresses drop`,
    `${ip} daddr @direct_addresses jump pass_on`,
    `${tooLong[ip]} ${ip} daddr @direct_addresses jump errors_on`,
  ];
  const tunnels = [`meta l4proto udp meta mark and ${mask} == ${mark} meta mark set meta mark and 0x0`];
  const answers = [`tcp flags syn ${ip} saddr @direct_addresses jump segments`];
  const errorsOn = [
    // Another node has sent the copy.
    `iifname "${tunnelPrefix}*" return`,
    'ether saddr @node_links return',
    `limit rate over ${errorsPerSecond}/second burst ${errorsPerSecond} packets return`,
    // A number without a receiver ends its rule only.
    ...copies('dup to meta priority map @error_receivers'),
    ...copies(`dup to meta priority map @error_tunnels device ${tunnelIndex(ip === 'ip' ? 4 : 6)}`),
  ];
  return new Map([
    chain('errors_on', errorsOn),
    // After other programs have set marks (raw, -300), before tracking (-200).
    chain('direct_before', before, 'type filter hook prerouting priority -290'),
    // The route has been chosen already.
    chain('direct_tunnels', tunnels, 'type filter hook output priority -290'),
    // After the source was translated back (100). The segment size is only ever reduced.
    chain('direct_answers', answers, 'type filter hook postrouting priority 110'),
  ]);
}

function copies(statement: string): string[] {
  return Array.from({ length: maximumErrorReceivers }, (_, number) => `meta priority set ${slotText(number + 1)} ${statement}`);
}
