import * as fc from 'fast-check';
import { address, type Address } from '../../../src/net/address.ts';
import { encodeArp, type ArpPacket } from '../../../src/l2/wire/arp.ts';
import { parseMac, type Mac } from '../../../src/l2/wire/mac.ts';
import { allNodes, multicastMac, solicitedNodeGroup } from '../../../src/l2/wire/multicast.ts';
import {
  encodeAdvertisement,
  encodeSolicitation,
  type NeighborAdvertisement,
  type NeighborSolicitation,
} from '../../../src/l2/wire/ndp.ts';

/** Frames for tests. */
export const mac = (text: string): Mac => {
  const value = parseMac(text);
  if (value === undefined) throw new Error(`${text} is not a MAC address`);
  return value;
};

export const ours = mac('02:00:00:00:00:01');
export const client = mac('02:00:00:00:00:99');
export const vip = address('192.0.2.10');
export const vip6 = address('2001:db8::10');

export function arpRequest(fields: Partial<ArpPacket> = {}): Uint8Array {
  return encodeArp({
    etherDestination: mac('ff:ff:ff:ff:ff:ff'),
    etherSource: client,
    operation: 'request',
    senderMac: client,
    sender: address('192.0.2.1'),
    targetMac: 0,
    target: vip,
    ...fields,
  });
}

export function solicitation(fields: Partial<NeighborSolicitation> = {}): Uint8Array {
  const target = fields.target ?? vip6;
  const group = solicitedNodeGroup(target);
  return encodeSolicitation({
    etherDestination: multicastMac(group),
    etherSource: client,
    source: address('2001:db8::1'),
    destination: group,
    target,
    ...fields,
  });
}

export function advertisement(fields: Partial<NeighborAdvertisement> = {}): Uint8Array {
  return encodeAdvertisement({
    etherDestination: multicastMac(allNodes),
    etherSource: client,
    source: fields.target ?? vip6,
    destination: allNodes,
    target: vip6,
    router: false,
    solicited: false,
    override: true,
    targetLink: client,
    ...fields,
  });
}

/** Returns the frame with these octets replaced. */
export function patched(frame: Uint8Array, changes: Readonly<Record<number, number>>): Uint8Array {
  const copy = frame.slice();
  for (const [at, value] of Object.entries(changes)) copy[Number(at)] = value;
  return copy;
}

/** Corrects the ICMPv6 checksum of a frame that was patched. Independent of the library's code. */
export function withChecksum(frame: Uint8Array): Uint8Array {
  const view = Buffer.from(frame);
  view.writeUInt16BE(0, 56);
  const length = view.length - 54;
  const data = Buffer.concat([
    view.subarray(22, 54),
    Buffer.from([0, 0, 0, length, 0, 0, 0, 58]),
    view.subarray(54),
    Buffer.alloc(length % 2),
  ]);
  let sum = 0n;
  for (let at = 0; at < data.length; at += 2) sum += BigInt(data.readUInt16BE(at));
  while (sum > 0xffffn) sum = (sum & 0xffffn) + (sum >> 16n);
  view.writeUInt16BE(Number(~sum & 0xffffn), 56);
  return Uint8Array.from(view);
}

const octet = fc.nat({ max: 255 });
export const hostMac: fc.Arbitrary<Mac> = fc.integer({ min: 1, max: 0xff_ffff_ffff }).map((low) => 0x0200_0000_0000 + low);
export const ipv4: fc.Arbitrary<Address> = fc.nat({ max: 0xffff_ffff }).map((value) => ({ family: 4, value: BigInt(value) }));
export const unicast6: fc.Arbitrary<Address> = fc
  .bigInt({ min: 1n, max: (1n << 120n) - 1n })
  .map((low) => ({ family: 6, value: (0x20n << 120n) | low }));

/** Frames with random octets, and well-formed frames with a few octets changed, cut or added. */
export const hostileFrame: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc
    .tuple(
      fc.constantFrom(arpRequest(), solicitation(), solicitation({ sourceLink: client }), advertisement()),
      fc.array(fc.tuple(fc.nat({ max: 95 }), octet), { maxLength: 4 }),
      fc.integer({ min: -90, max: 20 }),
      fc.boolean(),
    )
    .map(([frame, changes, grows, corrected]) => {
      const resized = new Uint8Array(Math.max(0, frame.length + (grows < -40 ? 0 : grows)));
      resized.set(frame.subarray(0, resized.length));
      for (const [at, value] of changes) if (at < resized.length) resized[at] = value;
      return corrected && resized.length > 60 ? withChecksum(resized) : resized;
    }),
);
