// Helpers of the programs that build their own packets.
import { Buffer } from 'node:buffer';
import net from 'node:net';

/** Returns an address as 4 or 16 octets in network order. */
export function octetsOf(address) {
  if (net.isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [head, tail = ''] = address.split('::');
  const groups = (text) => (text === '' ? [] : text.split(':'));
  const [front, back] = [groups(head), groups(tail)];
  const all = [...front, ...Array.from({ length: 8 - front.length - back.length }, () => '0'), ...back];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** Returns a struct sockaddr_in or sockaddr_in6 with port 0. */
export function socketAddress(text) {
  const octets = octetsOf(text);
  const address = Buffer.alloc(octets.length === 4 ? 16 : 28);
  address.writeUInt16LE(octets.length === 4 ? 2 : 10, 0);
  octets.copy(address, octets.length === 4 ? 4 : 8);
  return address;
}

/** Computes the checksum of RFC 1071 over an even number of octets. */
export function checksum(data) {
  let sum = 0;
  for (let at = 0; at < data.length; at += 2) sum += data.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
