/** The words of nft's language that our rules use, with the kernel's numbers for them. */
export const protocols: Readonly<Record<string, number>> = { tcp: 6, udp: 17, sctp: 132 };
/** Each state is a bit. */
export const states: Readonly<Record<string, number>> = { invalid: 1, established: 2, related: 4, new: 8, 'new,invalid': 9, untracked: 64 };
export const statuses: Readonly<Record<string, number>> = { snat: 16, dnat: 32 };
export const icmpTypes: Readonly<Record<'icmp' | 'icmpv6', Readonly<Record<string, number>>>> = {
  icmp: { 'destination-unreachable': 3, 'echo-request': 8 },
  icmpv6: { 'packet-too-big': 2, 'echo-request': 128 },
};
export const icmpCodes: Readonly<Record<string, number>> = { 'frag-needed': 4 };
export const tcpFlags: Readonly<Record<string, number>> = { fin: 1, syn: 2, rst: 4, ack: 16 };
/** The option's kind (RFC 9293 3.7.1), and the offset of the size after its kind and length. */
export const maximumSegmentSize = { kind: 2, offset: 2 } as const;
/** ARPHRD_ETHER: link addresses have a fixed place in Ethernet frames only. */
export const ethernet = Uint8Array.of(1, 0);
export const addressTypes: Readonly<Record<string, number>> = { unicast: 1, local: 2, broadcast: 3, multicast: 5 };

/** Returns the octets that a quoted interface name is compared with: all sixteen (IFNAMSIZ), or for a name with "*" those before it. */
export function interfaceName(word: string): Uint8Array {
  const name = word.slice(1, -1);
  return name.endsWith('*') ? Buffer.from(name.slice(0, -1)) : Buffer.concat([Buffer.from(name)], 16);
}
