import { expect, test } from 'vitest';
import { Capture, type Streamed, type TracedConnection, type TraceEvent } from '../../../../src/bgp/index.ts';
import { internetChecksum } from '../../../../src/bgp/trace/tcp-packet.ts';
import { encodeMessage, keepaliveMessage, nlriOf } from '../../../../src/bgp/wire/index.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { hex, messages } from '../hex.ts';
import { at, endsOf, messageEvent, readCapture, type ReadSegment } from './capture-file.ts';

const connection: TracedConnection = { number: 3, openedBy: 'us', ends: endsOf('192.0.2.1', '192.0.2.2') };
const overIpv6: TracedConnection = { number: 4, openedBy: 'peer', ends: endsOf('2001:db8::1', '2001:db8::2') };

function capture(events: readonly Streamed<TraceEvent>[]): ReadSegment[] {
  const writer = new Capture({ application: 'herald 0', name: 'tor1' });
  const file = Buffer.concat([writer.head(), ...events.map((event) => writer.add(event))]);
  const { application, name, segments } = readCapture(file);
  expect([application, name]).toEqual(['herald 0', 'tor1']);
  return segments;
}

const [fin, syn, rst, psh, ack] = [1, 2, 4, 8, 16] as const;
const summary = ({ from, sequence, acknowledgement, flags, payload }: ReadSegment): unknown[] => [
  from,
  sequence,
  acknowledgement,
  flags,
  payload.length,
];

/** Encodes an UPDATE of exactly this many octets. */
function updateOf(length: number): Uint8Array {
  const nlri = nlriOf(
    4,
    Array.from({ length: Math.floor((length - 23) / 5) }, () => ({ prefix: prefix('192.0.2.1/32') })),
  );
  const update = encodeMessage({ kind: 'update', withdrawn: [nlri], announced: [], attributes: {} }, { maximum: 65_535 });
  const padding = new Uint8Array(length - update.length);
  const whole = Buffer.concat([update, padding]);
  whole.writeUInt16BE(length, 16);
  return whole;
}

test('internetChecksum agrees with the example of RFC 1071', () => {
  expect(internetChecksum(hex('0001f203f4f5f6f7'))).toBe(0xffff - 0xddf2);
});

test.each([
  ['IPv4', connection, ['192.0.2.1 40000', '192.0.2.2 179']],
  ['IPv6', { ...overIpv6, openedBy: 'us' } as const, ['2001:db8::1 40000', '2001:db8::2 179']],
])('a connection over %s is captured from SYN to FIN with consecutive sequence numbers', (_, over, [us, peer]) => {
  const segments = capture([
    { at, connection: over, type: 'opened' },
    messageEvent(over, 'sent', keepaliveMessage),
    messageEvent(over, 'received', keepaliveMessage),
    messageEvent(over, 'received', updateOf(100)),
    messageEvent(over, 'sent', keepaliveMessage),
    { at, connection: over, type: 'closed', by: 'peer' },
  ]);
  expect(segments.map(summary)).toEqual([
    [us, 0, 0, syn, 0],
    [peer, 0, 1, syn + ack, 0],
    [us, 1, 1, ack, 0],
    [us, 1, 1, psh + ack, 19],
    [peer, 1, 20, psh + ack, 19],
    [peer, 20, 20, psh + ack, 100],
    [us, 20, 120, psh + ack, 19],
    [peer, 120, 39, fin + ack, 0],
  ]);
  expect(new Set(segments.map((segment) => segment.at))).toEqual(new Set([at.getTime()]));
});

test('the SYN comes from the peer when the peer opened the connection', () => {
  const [first, second] = capture([{ at, connection: overIpv6, type: 'opened' }]);
  expect([first?.from, first?.flags, second?.from, second?.flags]).toEqual(['2001:db8::2 179', syn, '2001:db8::1 40000', syn + ack]);
});

test.each([4_096, 8_192, 8_193, 65_535])('the segments of a message of %i octets reassemble to the message', (length) => {
  for (const over of [connection, overIpv6]) {
    const segments = capture([messageEvent(over, 'received', updateOf(length)), messageEvent(over, 'received', keepaliveMessage)]);
    const stream = Buffer.concat(segments.map(({ payload }) => payload));
    expect(messages(stream).map((message) => message.length)).toEqual([length, 19]);
    let next = segments[0]?.sequence ?? 0;
    for (const { sequence, payload } of segments) {
      expect(sequence).toBe(next);
      next += payload.length;
    }
    expect(segments.filter(({ flags }) => (flags & psh) !== 0)).toHaveLength(2);
  }
});

test('a capture that starts in an open connection has no handshake but the right addresses', () => {
  const segments = capture([{ at, connection, type: 'present' }, messageEvent(connection, 'received', keepaliveMessage)]);
  expect(segments.map(summary)).toEqual([['192.0.2.2 179', 1, 1, psh + ack, 19]]);
});

test('lost messages are noted in the next packet, and the messages after them can be read', () => {
  const segments = capture([
    messageEvent(connection, 'sent', keepaliveMessage),
    { type: 'lost', count: 7 },
    messageEvent(connection, 'sent', keepaliveMessage),
    messageEvent(connection, 'sent', keepaliveMessage),
  ]);
  expect(segments.map(({ sequence, lostBefore }) => [sequence, lostBefore])).toEqual([
    [1, undefined],
    [20, 7],
    [39, undefined],
  ]);
  expect(segments[1]?.comment).toBe('7 messages before this one are missing: they came faster than they were read');
});

test('unreadable octets and a reset are captured with their problem as comment', () => {
  const octets = hex('0011');
  const segments = capture([
    { at, connection, type: 'unreadable', octets, problem: 'the marker of a message header is not all ones' },
    { at, connection, type: 'closed', by: 'peer', problem: 'reset by the peer' },
  ]);
  expect(segments.map(({ payload, comment, flags }) => [payload.toString('hex'), comment, flags])).toEqual([
    ['0011', 'the marker of a message header is not all ones', psh + ack],
    ['', 'reset by the peer', rst + ack],
  ]);
});

test('a failed dial has no packets, and connections without known ports get made-up ones', () => {
  const bare = (number: number): TracedConnection => ({ number, openedBy: 'us' });
  const segments = capture([
    { at, connection: bare(1), type: 'closed', by: 'peer', problem: 'refused' },
    messageEvent(bare(2), 'sent', keepaliveMessage),
    messageEvent(bare(3), 'sent', keepaliveMessage),
  ]);
  expect(segments.map(({ from, to }) => [from, to])).toEqual([
    ['0.0.0.0 49154', '0.0.0.0 179'],
    ['0.0.0.0 49155', '0.0.0.0 179'],
  ]);
});
