import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { listAttributes, readAttributes, readNumber, readText } from '../../../../src/system/netlink/attributes.ts';
import { MalformedNetlink } from '../../../../src/system/netlink/error.ts';
import { messageFlags, messageTypes, readAcknowledgement, readMessages } from '../../../../src/system/netlink/message.ts';
import { MessageWriter } from '../../../../src/system/netlink/message-writer.ts';
import { runs } from '../../../support/property.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function oneMessage(write: (writer: MessageWriter) => void): Uint8Array {
  const writer = new MessageWriter();
  const start = writer.beginMessage({ type: 0x0a0c, flags: 0x0601, sequence: 7 });
  write(writer);
  writer.endMessage(start);
  return writer.bytes();
}

describe('netlink message writer', () => {
  test('encodes a message with nested attributes to these octets', () => {
    const bytes = oneMessage((writer) => {
      writer.raw(Uint8Array.of(2, 0, 0, 0));
      writer.textAttribute(1, 'herald');
      const nested = writer.beginNested(3);
      writer.numberAttribute(2, 0x01020304);
      writer.longAttribute(4, 5n);
      writer.bytesAttribute(1, Uint8Array.of(9));
      writer.endNested(nested);
    });
    const header = ['40000000', '0c0a', '0106', '07000000', '00000000'];
    const nested = ['20000380', '08000200', '01020304', '0c000400', '0000000000000005', '05000100', '09000000'];
    expect(hex(bytes)).toBe([...header, '02000000', '0b000100', '686572616c640000', ...nested].join(''));
  });

  test('throws an assertion error when a nested attribute exceeds its length field', () => {
    const writer = new MessageWriter();
    const nested = writer.beginNested(1);
    writer.bytesAttribute(1, new Uint8Array(60_000));
    writer.bytesAttribute(1, new Uint8Array(10_000));
    expect(() => writer.endNested(nested)).toThrow('an attribute of');
  });

  test('repeats octets any number of times', () => {
    for (const count of [0, 1, 2, 3, 7, 64, 1_000]) {
      const writer = new MessageWriter();
      writer.textAttribute(1, 'before');
      const repeated = writer.repeat(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), count);
      expect(hex(repeated)).toBe('0102030405060708'.repeat(count));
      expect(hex(writer.bytes().subarray(-8 * count || undefined))).toContain(hex(repeated));
    }
  });

  test('writes the same octets after everything was cleared, with zeros as padding', () => {
    const write = (writer: MessageWriter): string => {
      writer.textAttribute(1, 'text');
      writer.bytesAttribute(2, Uint8Array.of(9));
      return hex(writer.bytes());
    };
    for (const octets of [100, 5_000, 100_000, 60_000_000]) {
      const writer = new MessageWriter();
      writer.raw(new Uint8Array(octets).fill(0xff));
      writer.clear();
      expect(write(writer)).toBe(write(new MessageWriter()));
    }
  });
});

describe('netlink message reader', () => {
  test('reads back everything that was written, for any amount', () => {
    const attributes = fc.array(fc.tuple(fc.integer({ min: 1, max: 0x3fff }), fc.uint8Array({ maxLength: 3_000 })), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(attributes, { minLength: 1, maxLength: 4 }), (messages) => {
        const writer = new MessageWriter();
        for (const [sequence, message] of messages.entries()) {
          const start = writer.beginMessage({ type: 16, flags: 1, sequence });
          for (const [type, value] of message) writer.bytesAttribute(type, value);
          writer.endMessage(start);
        }
        const read = readMessages(writer.bytes());
        expect(read.map(({ sequence }) => sequence)).toEqual(messages.map((_, index) => index));
        expect(read.map(({ payload }) => listAttributes(payload).map(({ type, value }) => [type, hex(value)]))).toEqual(
          messages.map((message) => message.map(([type, value]) => [type, hex(value)])),
        );
      }),
    );
  });

  test('reports the offset at which an attribute began', () => {
    const bytes = oneMessage((writer) => {
      writer.textAttribute(1, 'abc');
      writer.numberAttribute(2, 1);
    });
    const payload = readMessages(bytes)[0]?.payload ?? new Uint8Array();
    expect(listAttributes(payload).map(({ offset }) => offset)).toEqual([0, 8]);
  });

  test('reads numbers and texts', () => {
    const bytes = oneMessage((writer) => {
      writer.numberAttribute(1, 0xfffffffe);
      writer.textAttribute(2, 'nodeports');
    });
    const attributes = readAttributes(readMessages(bytes)[0]?.payload ?? new Uint8Array());
    expect(readNumber(attributes.get(1) ?? new Uint8Array())).toBe(0xfffffffe);
    expect(readText(attributes.get(2) ?? new Uint8Array())).toBe('nodeports');
    expect(() => readNumber(Uint8Array.of(1, 2))).toThrow(MalformedNetlink);
  });

  test.each([
    ['a message shorter than its header', Uint8Array.of(16, 0, 0)],
    ['a length below the header', Uint8Array.from({ length: 16 }, (_, i) => (i === 0 ? 15 : 0))],
    ['a length beyond the datagram', Uint8Array.from({ length: 16 }, (_, i) => (i === 0 ? 17 : 0))],
  ])('rejects %s', (_, bytes) => {
    expect(() => readMessages(bytes)).toThrow(MalformedNetlink);
  });

  test.each([
    ['a length below the header', Uint8Array.of(3, 0, 1, 0)],
    ['a length beyond the octets', Uint8Array.of(9, 0, 1, 0, 1, 2, 3, 4)],
  ])('rejects an attribute with %s', (_, bytes) => {
    expect(() => listAttributes(bytes)).toThrow(MalformedNetlink);
  });

  test('either reads arbitrary octets or throws MalformedNetlink', () => {
    const readAll = (bytes: Uint8Array): void => {
      for (const message of readMessages(bytes)) {
        for (const { value } of listAttributes(message.payload)) listAttributes(value);
        if (message.type === messageTypes.error) readAcknowledgement(message);
      }
    };
    const total = (bytes: Uint8Array): boolean => {
      try {
        readAll(bytes);
      } catch (error) {
        return error instanceof MalformedNetlink;
      }
      return true;
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), total), { numRuns: runs(2_000) });
    // Almost valid input: an acknowledgement with some octets changed.
    const valid = acknowledgement(-17, { text: 'no', offset: 48 });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 }), (changes) => {
        const broken = Uint8Array.from(valid);
        for (const [at, octet] of changes) broken[at] = octet;
        return total(broken);
      }),
      { numRuns: runs(5_000) },
    );
  });
});

/** The kernel's answer to a request. It quotes the whole request or only its header. */
function acknowledgement(errno: number, more: { text?: string; offset?: number; quote?: Uint8Array }): Uint8Array {
  const writer = new MessageWriter();
  const flags = messageFlags.extended | (more.quote === undefined ? messageFlags.capped : 0);
  const start = writer.beginMessage({ type: messageTypes.error, flags, sequence: 3 });
  const quote = more.quote ?? new Uint8Array(16);
  const fixed = Buffer.alloc(4);
  fixed.writeInt32LE(errno);
  writer.raw(fixed);
  writer.raw(quote);
  if (more.text !== undefined) writer.textAttribute(1, more.text);
  if (more.offset !== undefined) {
    const offset = Buffer.alloc(4);
    offset.writeUInt32LE(more.offset);
    writer.bytesAttribute(2, offset);
  }
  writer.endMessage(start);
  return writer.bytes();
}

describe('netlink acknowledgements', () => {
  const read = (bytes: Uint8Array): unknown => {
    const [message] = readMessages(bytes);
    return message === undefined ? undefined : readAcknowledgement(message);
  };

  test("readAcknowledgement returns success, or an error with the kernel's text and offset", () => {
    expect(read(acknowledgement(0, {}))).toEqual({ errno: 0 });
    expect(read(acknowledgement(-17, { text: 'Object exists', offset: 52 }))).toEqual({ errno: 17, text: 'Object exists', offset: 52 });
  });

  test('readAcknowledgement accepts an answer that quotes the whole request', () => {
    const quote = oneMessage((writer) => writer.numberAttribute(1, 2));
    expect(read(acknowledgement(-2, { quote, offset: 16 }))).toEqual({ errno: 2, offset: 16 });
  });
});
