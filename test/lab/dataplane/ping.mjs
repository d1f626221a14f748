// Sends ICMP echo requests one after the other: `ping.mjs SOURCE SECONDS ADDRESS...`. Prints as JSON which address answered for each
// address, null if none answered within so many seconds. Needs CAP_NET_RAW, because the kernel allows unprivileged ICMP sockets to few
// groups of users only.
import { Buffer } from 'node:buffer';
import fs from 'node:fs';
import net from 'node:net';
import process from 'node:process';
import koffi from 'koffi';
import { checksum, octetsOf, socketAddress } from './octets.mjs';

const libc = koffi.load('libc.so.6');
const socket = libc.func('int socket(int domain, int type, int protocol)');
const setsockopt = libc.func('int setsockopt(int fd, int level, int option, const void *value, unsigned int size)');
const bind = libc.func('int bind(int fd, const void *address, unsigned int size)');
const sendto = libc.func('long sendto(int fd, const void *data, size_t length, int flags, const void *address, unsigned int size)');
const recvfrom = libc.func(
  'long recvfrom(int fd, _Out_ void *data, size_t length, int flags, _Out_ void *address, _Inout_ unsigned int *size)',
);

function echoRequest(family, identifier, sequence) {
  const packet = Buffer.alloc(16);
  packet.writeUInt8(family === 4 ? 8 : 128, 0);
  packet.writeUInt16BE(identifier, 4);
  packet.writeUInt16BE(sequence, 6);
  // The kernel computes the checksum of ICMPv6, which covers the addresses.
  if (family === 4) packet.writeUInt16BE(checksum(packet), 2);
  return packet;
}

function ping(source, seconds, address, identifier) {
  const family = net.isIPv4(address) ? 4 : 6;
  const fd = socket(family === 4 ? 2 : 10, 3, family === 4 ? 1 : 58);
  if (fd < 0) throw new Error('no raw socket');
  // SOL_SOCKET, SO_RCVTIMEO with a struct timeval.
  const time = Buffer.alloc(16);
  time.writeBigInt64LE(BigInt(seconds), 0);
  setsockopt(fd, 1, 20, time, 16);
  const from = socketAddress(source);
  bind(fd, from, from.length);
  const to = socketAddress(address);
  sendto(fd, echoRequest(family, identifier, 1), 16, 0, to, to.length);
  const data = Buffer.alloc(256);
  const answerer = Buffer.alloc(28);
  try {
    for (;;) {
      const length = Number(recvfrom(fd, data, data.length, 0, answerer, [answerer.length]));
      if (length < 0) return null;
      const at = family === 4 ? 4 * (data[0] & 0xf) : 0;
      if (data[at] !== (family === 4 ? 0 : 129) || data.readUInt16BE(at + 4) !== identifier) continue;
      const octets = family === 4 ? answerer.subarray(4, 8) : answerer.subarray(8, 24);
      return octets.equals(octetsOf(address)) ? address : octets.toString('hex');
    }
  } finally {
    fs.closeSync(fd);
  }
}

const [, , source, seconds, ...addresses] = process.argv;
const answers = addresses.map((address, index) => ping(source, seconds, address, (process.pid + index) & 0xffff));
process.stdout.write(JSON.stringify(answers));
