// Sends packets with their own headers, one from each source port: `raw.mjs JSON`. It makes packets that no socket of Node.js can send.
// Needs CAP_NET_RAW.
import { Buffer } from 'node:buffer';
import net from 'node:net';
import koffi from 'koffi';
import { checksum, octetsOf, socketAddress } from './octets.mjs';

const libc = koffi.load('libc.so.6');
const socket = libc.func('int socket(int domain, int type, int protocol)');
const sendto = libc.func('long sendto(int fd, const void *data, size_t length, int flags, const void *address, unsigned int size)');

/** Computes CRC32c (RFC 9260 appendix A) bit by bit. */
function crc32c(data) {
  let crc = 0xffffffff;
  for (const octet of data) {
    crc ^= octet;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** Returns an INIT chunk in its packet. It is the only chunk of a first packet (RFC 9260 3.3.2). */
function sctpInit(sourcePort, port) {
  const packet = Buffer.alloc(32);
  packet.writeUInt16BE(sourcePort, 0);
  packet.writeUInt16BE(port, 2);
  packet.writeUInt8(1, 12);
  packet.writeUInt16BE(20, 14);
  packet.writeUInt32BE(0x12345678, 16);
  packet.writeUInt32BE(65_535, 20);
  packet.writeUInt16BE(1, 24);
  packet.writeUInt16BE(1, 26);
  packet.writeUInt32BE(1, 28);
  packet.writeUInt32LE(crc32c(packet), 8);
  return packet;
}

/** Returns a segment without any flag. conntrack always calls it INVALID, even when it is liberal. */
function tcpWithoutFlags(sourcePort, port) {
  const packet = Buffer.alloc(20);
  packet.writeUInt16BE(sourcePort, 0);
  packet.writeUInt16BE(port, 2);
  packet.writeUInt8(5 << 4, 12);
  packet.writeUInt16BE(1_024, 14);
  return packet;
}

/** Returns a data segment with these ports and this sequence number. Its checksum is correct. */
function tcpData(source, destination, sourcePort, port, sequence) {
  const packet = Buffer.alloc(24);
  packet.writeUInt16BE(sourcePort, 0);
  packet.writeUInt16BE(port, 2);
  packet.writeUInt32BE(sequence, 4);
  packet.writeUInt32BE(1, 8);
  packet.writeUInt8(5 << 4, 12);
  packet.writeUInt8(0x18, 13);
  packet.writeUInt16BE(1_024, 14);
  packet.write('boom', 20);
  const pseudo = Buffer.alloc(8);
  pseudo.writeUInt32BE(packet.length, 0);
  pseudo.writeUInt8(6, 7);
  packet.writeUInt16BE(checksum(Buffer.concat([octetsOf(source), octetsOf(destination), pseudo, packet])), 16);
  return packet;
}

function ip(source, destination, protocol, payload) {
  const [from, to] = [octetsOf(source), octetsOf(destination)];
  if (from.length === 4) {
    const header = Buffer.alloc(20);
    header.writeUInt8(0x45, 0);
    header.writeUInt16BE(20 + payload.length, 2);
    header.writeUInt8(64, 8);
    header.writeUInt8(protocol, 9);
    from.copy(header, 12);
    to.copy(header, 16);
    return Buffer.concat([header, payload]);
  }
  const header = Buffer.alloc(40);
  header.writeUInt8(0x60, 0);
  header.writeUInt16BE(payload.length, 4);
  header.writeUInt8(protocol, 6);
  header.writeUInt8(64, 7);
  from.copy(header, 8);
  to.copy(header, 24);
  return Buffer.concat([header, payload]);
}

function packetOf(sourcePort, index) {
  switch (kind) {
    case 'SCTP INIT':
      return ip(source, destination, 132, sctpInit(sourcePort, port));
    case 'TCP out of window':
      // Sequence numbers are a third of all numbers apart, so that one of three is beyond the window, wherever that is.
      return ip(source, destination, 6, tcpData(source, destination, sourcePort, port, (index * 0x5555_5555) >>> 0));
    default:
      return ip(source, destination, 6, tcpWithoutFlags(sourcePort, port));
  }
}

const { kind, source, destination, sourcePorts, port } = JSON.parse(process.argv[2]);
const address = socketAddress(destination);
// SOCK_RAW, IPPROTO_RAW: this program makes the IP header, and the kernel fills in the checksum of IPv4.
const fd = socket(net.isIPv4(destination) ? 2 : 10, 3, 255);
for (const [index, sourcePort] of sourcePorts.entries()) {
  const packet = packetOf(sourcePort, index);
  const sent = Number(sendto(fd, packet, packet.length, 0, address, address.length));
  if (sent !== packet.length) throw new Error(`sent ${sent} octets of ${packet.length}`);
}
