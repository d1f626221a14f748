import { hex, marker } from '../../../src/bgp/test/hex.ts';

const nextHop6 = '20010db8000000000000000000000002';
const attributes = '40010100 40020602010000fde9 4003040a000001';
const everyCapability = `0506000100010002 0600 090103 400ac0780001018000020100 4104fa56ea00 450800010103 00020102 4600
  470700010180010203 4905017202 6e65 4b03026132`;

/** Optional parameters of OPENs: all capabilities, in one parameter or in several. `others` has the form of RFC 9072. */
const parameters: readonly string[] = [
  '',
  '0214 0104 00010001 0104 00020001 0200 4104 0000fc00',
  `02${hex(everyCapability).length.toString(16)} ${everyCapability}`,
  '0206 0104 00010001 0204 f002 abcd',
];

/** Withdrawn routes, attributes and NLRI of UPDATEs, with every attribute that the codec knows. */
const updates: readonly (readonly [withdrawn: string, attributes: string, nlri: string])[] = [
  ['', '', ''],
  ['', '800f03 000201', ''],
  ['18c00002', '', ''],
  ['', attributes, '180a0102 20c0000201 00'],
  ['', `${attributes} 80040400000007`, '180a0102'],
  ['', `800e1b 000201 10 ${nextHop6} 00 20 20010db8 00 40010100 40020602010000fde9`, ''],
  ['', `800e2a 000101 20 ${nextHop6} fe800000000000000000000000000001 00 20c0000201 40010100 40020602010000fde9`, ''],
  ['', '800f08 000201 20 20010db8', ''],
  ['00000001 18c00002', `800e1e 000201 10 ${nextHop6} 00 00000007 20 20010db8 ${attributes}`, '00000002 180a0102'],
  ['', '40010102 400210 0202 0000fde9 0000fdea 0101 0000fdeb 4003047f000001', '180a0102'],
  [
    '18c00002',
    `40010102 40020602010000fde9 4003040a000001 80040400000007 40050400000064 400600 c007080000fde90a000009
     c00808fde90064ffffff01 8009040a000003 800a080a0000040a000005 c010104004fde94cebbc200002fde900000064
     c01914${'00'.repeat(20)} c0200c0000fde90000000100000002 c023040000fdea c06302abcd 806600 d064000101`,
    '180a0102',
  ],
  ['', '40010100 4002040201 5ba0 4003040a000001 c007065ba00a000009 c011060201fa56ea00 c01208fa56ea000a000009', '180a0102'],
];

/** The bodies of other messages, with their types. */
const others: readonly (readonly [type: number, body: string])[] = [
  [1, '04 fc00 005a 0a000001 ff ff 0010 02 0006 0104 00010001 02 0004 4002 0078'],
  [3, '06 02 0b 6d61696e74656e616e6365'],
  [3, '06 09 06 02 03 627965'],
  [3, '06 01 0001 01 0000000a'],
  [3, '01 02 0012'],
  [4, ''],
  [5, '0001 00 01'],
  [5, '0002 02 01'],
];

/** Builds a whole message from a type (1 to 5) and a body. */
export function messageOf(type: number, body: Uint8Array): Uint8Array {
  const length = 19 + body.length;
  const message = new Uint8Array(length);
  message.set(hex(marker));
  message.set([length >> 8, length & 255, type], 16);
  message.set(body, 19);
  return message;
}

const u16 = (value: number): string => value.toString(16).padStart(4, '0');
const lengthOf = (text: string): number => hex(text).length;

/** Valid messages of every kind, and some whose error is tolerated. */
export const corpus: readonly Uint8Array[] = [
  ...parameters.map((text) => messageOf(1, hex(`04 fc00 005a 0a000001 ${u16(lengthOf(text)).slice(2)} ${text}`))),
  ...updates.map(([withdrawn, attributes, nlri]) =>
    messageOf(2, hex(`${u16(lengthOf(withdrawn))} ${withdrawn} ${u16(lengthOf(attributes))} ${attributes} ${nlri}`)),
  ),
  ...others.map(([type, body]) => messageOf(type, hex(body))),
];
