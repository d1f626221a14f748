/**
 * Sends TCP SYNs of distinct connections over IPv4 as fast as wanted. Run as `node syn-flood.ts SOURCE DESTINATION PORT NUMBER EACH-SECOND [FLAGS]`
 * with the right to raw sockets; EACH-SECOND 0 means as fast as possible, FLAGS are those of TCP in place of SYN. SOURCE names the first of the addresses that are counted up. Prints JSON: the
 * seconds that it took, and its processor time, which includes what the kernel did with each packet on its way through other namespaces.
 */
import process from 'node:process';
import { loadLibc } from '../../../src/system/ffi/libc.ts';

const [source = '', destination = '', port = '', number = '', eachSecond = '', flags = '2'] = process.argv.slice(2);
const libc = loadLibc();
if (libc === undefined) throw new Error('no FFI');
/** AF_INET, SOCK_RAW, IPPROTO_RAW: the packet has its IP header. */
const fd = libc.socket(2, 3, 255);
if (fd < 0) throw new Error(`no raw socket: errno ${libc.errno()}`);

const octets = (text: string): number[] => text.split('.').map(Number);
const packet = Buffer.alloc(40);
packet.set([0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, ...octets(source), ...octets(destination)]);
packet.writeUInt16BE(Number(port), 22);
packet.writeUInt8(5 << 4, 32);
packet.writeUInt8(Number(flags), 33);
packet.writeUInt16BE(0xffff, 34);
const to = Buffer.alloc(16);
to.writeUInt16LE(2);
to.set(octets(destination), 4);

/** RFC 1071, over the pseudo header and the segment. */
function checksum(): number {
  let sum = 6 + 20;
  for (let at = 12; at < 40; at += 2) sum += packet.readUInt16BE(at);
  sum = (sum & 0xffff) + (sum >>> 16);
  return ~(sum + (sum >>> 16)) & 0xffff;
}

const base = packet.readUInt32BE(12);
const before = process.cpuUsage();
const began = performance.now();
for (let sent = 0; sent < Number(number); sent++) {
  packet.writeUInt32BE(base + Math.floor(sent / 60_000), 12);
  packet.writeUInt16BE(1_024 + (sent % 60_000), 20);
  packet.writeUInt32BE(sent, 24);
  packet.writeUInt16BE(0, 36);
  packet.writeUInt16BE(checksum(), 36);
  libc.sendto(fd, packet, packet.length, 0, to, to.length);
  if (eachSecond === '0' || sent % 200 > 0) continue;
  const early = (sent / Number(eachSecond)) * 1000 - (performance.now() - began);
  if (early > 1) await new Promise((resolve) => setTimeout(resolve, early));
}
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000, processor: (user + system) / 1e6, system: system / 1e6 }));
process.exit();
