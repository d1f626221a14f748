import { defined } from '../../../../src/lang/defined.ts';
import { address, addressFromBytes, formatAddress } from '../../../../src/net/address.ts';
import { internetChecksum } from '../../../../src/bgp/trace/tcp-packet.ts';
import type { Endpoints, TracedConnection, TraceEvent } from '../../../../src/bgp/index.ts';

/** A segment of a capture file. The reader in this file is independent of the writer, except for the checksum function. */
export interface ReadSegment {
  readonly at: number;
  readonly comment?: string;
  readonly lostBefore?: number;
  readonly from: string;
  readonly to: string;
  readonly sequence: number;
  readonly acknowledgement: number;
  readonly flags: number;
  readonly payload: Buffer;
}

export function readCapture(file: Uint8Array): { readonly application: string; readonly name: string; readonly segments: ReadSegment[] } {
  const bytes = Buffer.from(file);
  if (bytes.readUInt32BE(8) !== 0x1a2b3c4d) throw new Error('no section');
  let [application, name] = ['', ''];
  const segments: ReadSegment[] = [];
  for (let offset = 0; offset < bytes.length;) {
    const length = bytes.readUInt32BE(offset + 4);
    if (length % 4 !== 0 || bytes.readUInt32BE(offset + length - 4) !== length) throw new Error(`a block of ${length} octets at ${offset}`);
    const body = bytes.subarray(offset + 8, offset + length - 4);
    const type = bytes.readUInt32BE(offset);
    if (type === 0x0a0d0d0a) application = optionsOf(body.subarray(16)).get(4)?.toString() ?? '';
    else if (type === 1) {
      if (body.readUInt16BE(0) !== 101) throw new Error('not raw IP');
      name = optionsOf(body.subarray(8)).get(2)?.toString() ?? '';
    } else segments.push(readPacket(body));
    offset += length;
  }
  return { application, name, segments };
}

function readPacket(body: Buffer): ReadSegment {
  const length = body.readUInt32BE(12);
  const options = optionsOf(body.subarray(20 + length + ((4 - (length % 4)) % 4)));
  const at = Number((BigInt(body.readUInt32BE(4)) << 32n) | BigInt(body.readUInt32BE(8))) / 1000;
  const [comment, lost] = [options.get(1)?.toString(), options.get(4)?.readBigUInt64BE()];
  return {
    at,
    ...defined({ comment }),
    ...(lost === undefined ? {} : { lostBefore: Number(lost) }),
    ...readIp(body.subarray(20, 20 + length)),
  };
}

/** Throws when a length or a checksum is wrong. */
function readIp(packet: Buffer): Omit<ReadSegment, 'at'> {
  const isIpv4 = packet.readUInt8(0) >> 4 === 4;
  const header = isIpv4 ? 20 : 40;
  const [source, destination] = isIpv4
    ? [packet.subarray(12, 16), packet.subarray(16, 20)]
    : [packet.subarray(8, 24), packet.subarray(24, 40)];
  const length = isIpv4 ? packet.readUInt16BE(2) : packet.readUInt16BE(4) + header;
  if (length !== packet.length) throw new Error(`the header says ${length} octets, there are ${packet.length}`);
  if (isIpv4 && internetChecksum(packet.subarray(0, 20)) !== 0) throw new Error('the checksum of the IPv4 header is wrong');
  if (packet.readUInt8(isIpv4 ? 9 : 6) !== 6) throw new Error('not TCP');
  const tcp = packet.subarray(header);
  const pseudo = Buffer.concat([source, destination, Buffer.from([0, 0, 0, 0, 0, 0, 0, 6])]);
  pseudo.writeUInt32BE(tcp.length, pseudo.length - 8);
  if (internetChecksum(Buffer.concat([pseudo, tcp])) !== 0) throw new Error('the TCP checksum is wrong');
  const end = (octets: Buffer, port: number): string => `${formatAddress(addressFromBytes(octets))} ${port}`;
  return {
    from: end(source, tcp.readUInt16BE(0)),
    to: end(destination, tcp.readUInt16BE(2)),
    sequence: tcp.readUInt32BE(4),
    acknowledgement: tcp.readUInt32BE(8),
    flags: tcp.readUInt8(13),
    payload: tcp.subarray((tcp.readUInt8(12) >> 4) * 4),
  };
}

function optionsOf(bytes: Buffer): Map<number, Buffer> {
  const options = new Map<number, Buffer>();
  for (let offset = 0; offset + 4 <= bytes.length;) {
    const [code, length] = [bytes.readUInt16BE(offset), bytes.readUInt16BE(offset + 2)];
    if (code === 0) break;
    options.set(code, bytes.subarray(offset + 4, offset + 4 + length));
    offset += 4 + length + ((4 - (length % 4)) % 4);
  }
  return options;
}

export const at = new Date('2026-01-02T03:04:05.678Z');

export function endsOf(local: string, remote: string): Endpoints {
  return { local: { address: address(local), port: 40_000 }, remote: { address: address(remote), port: 179 } };
}

type Message = Extract<TraceEvent, { type: 'message' }>;

export function messageEvent(connection: TracedConnection, direction: Message['direction'], octets: Uint8Array): TraceEvent {
  return { at, connection, type: 'message', direction, octets, session: {} };
}
