import { segmentLadder, type Chain } from './layout.ts';
import { markMask, tunnelPrefix } from './direct-return-identity.ts';

/**
 * The constant part of direct server return in the table of one family.
 *
 * - Before connection tracking, and after fragments were put together: a packet for a backend of another node gets the mark that
 *   leads it there (paths.ts), and no connection. Packets that another node passed on, or that a pod sent, never do: so they cannot
 *   go round between nodes whose tables differ for a moment, whatever these say.
 * - Translation is as for every frontend, but that a backend on this node sees the client's address.
 * - Packets of the tunnel itself lose the mark of what is inside. The rest of a mark is a digest of an address, so that it may have the bit by
 *   which we, or kube-proxy, masquerade: that gives the tunnel another source, and over IPv6 a checksum that is wrong.
 * - Answers: clients learn how much fits into the tunnel.
 *
 * `key`: what a frontend is found by. `podMatches`: what tells packets of pods.
 */
export function directReturnChains(
  ip: 'ip' | 'ip6',
  key: string,
  podMatches: readonly string[],
  requestMasquerade: string,
): [string, Chain][] {
  const [mark, mask] = markMask.split('/');
  return [
    [
      'external_direct',
      {
        rules: [
          // What a pod or the node itself sends comes back here first, to be translated back.
          ...podMatches.map((match) => `${match} goto external`),
          'fib saddr type local goto external',
          'meta priority vmap @draws',
          `${key} . meta priority @direct_local goto deliver`,
          requestMasquerade,
          'goto deliver',
        ],
      },
    ],
    [
      'pass_on',
      {
        rules: [
          `iifname "${tunnelPrefix}*" return`,
          'ether saddr @node_links return',
          ...podMatches.map((match) => `${match} return`),
          `meta priority set ${key} map @frontends meta priority vmap @draws`,
          `meta mark set ${key} . meta priority map @passed_on notrack`,
        ],
      },
    ],
    [
      'direct_before',
      {
        // After others have marked (raw, -300), before tracking (-200).
        hook: 'type filter hook prerouting priority -290',
        rules: [
          // Whoever reaches the port of the tunnel shall not reach more by it.
          `iifname "${tunnelPrefix}*" ${ip} daddr != @direct_addresses drop`,
          `${ip} daddr @direct_addresses jump pass_on`,
        ],
      },
    ],
    [
      'direct_tunnels',
      {
        // The way is chosen already.
        hook: 'type filter hook output priority -290',
        rules: [`meta l4proto udp meta mark and ${mask} == ${mark} meta mark set meta mark and 0x0`],
      },
    ],
    ['segments', { rules: segmentLadder.map((size) => `${ip} saddr @segment_${size} tcp option maxseg size set ${size} return`) }],
    [
      'direct_answers',
      {
        // After the source was translated back (100). A segment size is only ever made smaller.
        hook: 'type filter hook postrouting priority 110',
        rules: ['tcp flags syn jump segments'],
      },
    ],
  ];
}
