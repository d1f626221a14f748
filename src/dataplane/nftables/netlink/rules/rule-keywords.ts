/** Words of nft's language, as far as our rules use them, and what stands for them in the kernel. */
export const protocols: Readonly<Record<string, number>> = { tcp: 6, udp: 17, sctp: 132 };
export const states: Readonly<Record<string, number>> = { invalid: 1, established: 2, related: 4, new: 8, untracked: 64 };
export const statuses: Readonly<Record<string, number>> = { snat: 16, dnat: 32 };
export const tcpFlags: Readonly<Record<string, number>> = { fin: 1, syn: 2, rst: 4, ack: 16 };
/** RFC 9293 3.7.1: kind, length, and the size after them. */
export const maximumSegmentSize = { kind: 2, offset: 2 } as const;
/** ARPHRD_ETHER: link addresses have their place in frames of Ethernet. */
export const ethernet = Uint8Array.of(1, 0);
export const addressTypes: Readonly<Record<string, number>> = { unicast: 1, local: 2, broadcast: 3, multicast: 5 };

/** What the name of an interface, in quotes, is compared with: all sixteen octets (IFNAMSIZ), or with a "*" those before it. */
export function interfaceName(word: string): Uint8Array {
  const name = word.slice(1, -1);
  return name.endsWith('*') ? Buffer.from(name.slice(0, -1)) : Buffer.concat([Buffer.from(name)], 16);
}
