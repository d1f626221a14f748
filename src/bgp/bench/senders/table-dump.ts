import { prefixText } from '../sender.ts';

const u16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
};
const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const ipv4 = (text: string): Buffer => Buffer.from(text.split('.').map(Number));

/** Type 13 is TABLE_DUMP_V2, RFC 6396 4.3. */
const record = (subtype: number, body: Buffer): Buffer => Buffer.concat([u32(0), u16(13), u16(subtype), u32(body.length), body]);

/** Encodes the prefixes as the table of a router with one peer, in the format that `gobgp mrt inject` reads. */
export function tableDump(count: number): Buffer {
  const peer = Buffer.concat([Buffer.from([2]), ipv4('10.0.0.1'), ipv4('10.0.0.1'), u32(65002)]);
  const peers = record(1, Buffer.concat([ipv4('10.0.0.1'), u16(0), u16(1), peer]));
  // ORIGIN IGP, an empty AS_PATH, NEXT_HOP.
  const attributes = Buffer.concat([Buffer.from([0x40, 1, 1, 0, 0x40, 2, 0, 0x40, 3, 4]), ipv4('10.99.0.2')]);
  const entry = Buffer.concat([u16(1), u16(0), u32(0), u16(attributes.length), attributes]);
  const routes = Array.from({ length: count }, (_, n) => {
    const [address = ''] = prefixText(n).split('/');
    return record(2, Buffer.concat([u32(n), Buffer.from([32]), ipv4(address), entry]));
  });
  return Buffer.concat([peers, ...routes]);
}
