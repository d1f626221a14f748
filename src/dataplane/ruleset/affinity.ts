import type { Family } from '../../net/address.ts';
import { hashSeed } from '../../net/connection-hash.ts';
import { backendIdModulus, timeoutId, timeoutMask } from './classid.ts';
import { affinityLadder, affinityMap, type Chain } from './layout.ts';

/**
 * Affinity id (in the register) and client. nft 1.0.6 gives the key of an "update" of a map no more than 16 octets of registers,
 * so IPv6 clients are hashed to 64 bits: clients that collide share a backend, which is harmless. (A set type of hashes is
 * written with numgen, whose type is the same: with jhash, listing the set crashes nft.)
 */
export function affinityKey(ip: 'ip' | 'ip6'): string {
  if (ip === 'ip') return 'meta priority . ip saddr';
  const client = [2, 3].map((seed) => `jhash ip6 saddr mod ${hashModulus} seed 0x${seed}`);
  return `meta priority . ${client.join(' . ')}`;
}

/** Of the map that the kernel fills. */
export function affinityType(family: Family): string {
  if (family === 4) return 'type classid . ipv4_addr : classid';
  const hash = `numgen random mod ${hashModulus}`;
  return `typeof meta priority . ${hash} . ${hash} : meta priority`;
}

const hashModulus = 0xffff_ffff;

/**
 * A client is remembered when the first packet of its connection has been translated: only then is the backend in the packet,
 * while the scratch register, which had to find it, is free for the affinity id. "update" of what is there keeps the backend
 * and begins the timeout anew.
 */
export function rememberChains(ip: 'ip' | 'ip6'): [string, Chain][] {
  const protocols = ['tcp', 'udp', 'sctp'];
  const choose = `meta priority and ${timeoutMask} vmap @timeouts`;
  const address = `ct original ${ip} daddr`;
  // nft knows what a port of conntrack is only beside the protocol.
  const port = 'meta l4proto . ct original proto-dst';
  const backend = `jhash ${ip} daddr . th dport mod ${backendIdModulus} seed 0x${hashSeed.toString(16)}`;
  return [
    ...affinityLadder.map((seconds): [string, Chain] => [
      `remember_${seconds}`,
      { rules: [`update @${affinityMap} { ${affinityKey(ip)} timeout ${seconds}s : ${backend} }`] },
    ]),
    [
      'remember_nodeport',
      {
        rules: protocols.map((protocol) => `meta l4proto ${protocol} meta priority set ${port} map @nodeport_affinity_ids ${choose}`),
      },
    ],
    [
      'remember',
      {
        rules: [
          ...protocols.map((protocol) => `meta l4proto ${protocol} meta priority set ${address} . ${port} map @affinity_ids ${choose}`),
          `ct status dnat ${address} @nodeport_ips goto remember_nodeport`,
        ],
      },
    ],
  ];
}

/** The timeout in an affinity id to the chain that remembers for so long. */
export const timeoutVerdicts: ReadonlyMap<string, string> = new Map(
  affinityLadder.map((seconds, index) => [timeoutId(index), `goto remember_${seconds}`]),
);
