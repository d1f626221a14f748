import type { Family } from '../../net/address.ts';
import { hashSeed } from '../../net/connection-hash.ts';
import { backendIdModulus, timeoutId, timeoutMask } from './classid.ts';
import { affinityLadder, affinityMap, chain, type NamedChain } from './layout.ts';
import type { PartChains } from './parts.ts';

/**
 * Returns the key of the affinity map: affinity id (in the register) and client. nft 1.0.6 limits the key of an "update" of a map to 16
 * octets of registers, so IPv6 clients are hashed to 64 bits. Clients whose hashes collide share a backend, which is harmless. (The hash
 * type of the set is declared with numgen, which has the same type: with jhash, listing the set crashes nft.)
 */
export function affinityKey(ip: 'ip' | 'ip6'): string {
  if (ip === 'ip') return 'meta priority . ip saddr';
  const client = [2, 3].map((seed) => `jhash ip6 saddr mod ${hashModulus} seed 0x${seed}`);
  return `meta priority . ${client.join(' . ')}`;
}

/** Returns the type of the map that the kernel fills. */
export function affinityType(family: Family): string {
  if (family === 4) return 'type classid . ipv4_addr : classid';
  const hash = `numgen random mod ${hashModulus}`;
  return `typeof meta priority . ${hash} . ${hash} : meta priority`;
}

const hashModulus = 0xffff_ffff;

/**
 * Builds the chains that remember a client, after the first packet of its connection was translated: only then is the backend in the
 * packet. Before that, the scratch register is needed to find the backend and is not free for the affinity id. "update" of an existing
 * entry keeps the backend and restarts the timeout.
 */
export function rememberChains(ip: 'ip' | 'ip6'): NamedChain[] {
  const backend = `jhash ${ip} daddr . th dport mod ${backendIdModulus} seed 0x${hashSeed.toString(16)}`;
  return [
    ...affinityLadder.map((seconds) =>
      chain(`remember_${seconds}`, [`update @${affinityMap} { ${affinityKey(ip)} timeout ${seconds}s : ${backend} }`]),
    ),
    chain(
      'remember_nodeport',
      protocols.map((protocol) => `meta l4proto ${protocol} meta priority set ${originalPort} map @nodeport_affinity_ids ${chooseTimeout}`),
    ),
  ];
}

/** Builds the chain that every first packet of a connection meets. Without session affinity, it is empty. */
export function affinityPart(ip: 'ip' | 'ip6'): PartChains {
  const rules = [
    ...protocols.map((protocol) => `meta l4proto ${protocol} meta priority set ${original(ip)} map @affinity_ids ${chooseTimeout}`),
    `ct status dnat ct original ${ip} daddr @nodeport_ips goto remember_nodeport`,
  ];
  return new Map([chain(rememberChain, rules)]);
}

export const rememberChain = 'remember';

const protocols = ['tcp', 'udp', 'sctp'];
const chooseTimeout = `meta priority and ${timeoutMask} vmap @timeouts`;
// nft knows the type of a conntrack port only next to the protocol.
const originalPort = 'meta l4proto . ct original proto-dst';
const original = (ip: 'ip' | 'ip6'): string => `ct original ${ip} daddr . ${originalPort}`;

/** Maps the timeout in an affinity id to the chain that remembers a client for that time. */
export const timeoutVerdicts: ReadonlyMap<string, string> = new Map(
  affinityLadder.map((seconds, index) => [timeoutId(index), `goto remember_${seconds}`]),
);
