import { defined } from '../../lang/defined.ts';
import { aligned, attributeHeaderBytes, readAttributes, readHostNumber, readText } from './attributes.ts';
import { MalformedNetlink } from './error.ts';

export const messageHeaderBytes = 16;

export const messageTypes = { error: 2, done: 3 } as const;

/** NLM_F_ flags. `replace`, `exclusive` and `create` apply to requests that create something, `dump` to requests that list. */
export const messageFlags = {
  request: 0x1,
  ack: 0x4,
  dumpInterrupted: 0x10,
  capped: 0x100,
  replace: 0x100,
  extended: 0x200,
  dump: 0x300,
  exclusive: 0x200,
  create: 0x400,
  append: 0x800,
} as const;

/**
 * A message (struct nlmsghdr), numbers in the byte order of the machine:
 *
 *     0               4       6       8               12              16
 *     +---------------+-------+-------+---------------+---------------+--------
 *     | length        | type  | flags | sequence      | port          | payload
 *     +---------------+-------+-------+---------------+---------------+--------
 */
export interface Message {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  /** In an answer, our own port. In an event, the port of the socket that made the change. */
  readonly port: number;
  readonly payload: Uint8Array;
}

/** Splits a datagram into its messages. Throws MalformedNetlink. */
export function readMessages(datagram: Uint8Array): Message[] {
  const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.length);
  const messages: Message[] = [];
  let offset = 0;
  while (offset < datagram.length) {
    const room = datagram.length - offset;
    const length = room < messageHeaderBytes ? room : view.getUint32(offset, true);
    if (length < messageHeaderBytes || length > room)
      throw new MalformedNetlink(`a message at ${offset} has the length ${length} in ${datagram.length} octets`);
    messages.push({
      type: view.getUint16(offset + 4, true),
      flags: view.getUint16(offset + 6, true),
      sequence: view.getUint32(offset + 8, true),
      port: view.getUint32(offset + 12, true),
      payload: datagram.subarray(offset + messageHeaderBytes, offset + length),
    });
    offset += aligned(length);
  }
  return messages;
}

/** The content of an NLMSG_ERROR message: the result of one of our requests. */
export interface Acknowledgement {
  /** 0 for success, otherwise a positive error number. */
  readonly errno: number;
  /** The kernel's explanation. Absent when it gives none. */
  readonly text?: string;
  /** Offset of the attribute at fault, from the start of the request's header. */
  readonly offset?: number;
}

const extendedText = 1;
const extendedOffset = 2;

/**
 * Reads the payload of an NLMSG_ERROR: the error number, the request's header, the request's payload unless it was capped, then attributes
 * (NETLINK_EXT_ACK). Throws MalformedNetlink.
 */
export function readAcknowledgement({ payload, flags }: Message): Acknowledgement {
  if (payload.length < 4 + messageHeaderBytes) throw new MalformedNetlink(`an acknowledgement of ${payload.length} octets`);
  const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
  const errno = Math.abs(view.getInt32(0, true));
  if ((flags & messageFlags.extended) === 0) return { errno };
  const quoted = (flags & messageFlags.capped) === 0 ? view.getUint32(4, true) : messageHeaderBytes;
  const start = 4 + aligned(Math.max(quoted, messageHeaderBytes));
  if (start + attributeHeaderBytes > payload.length) return { errno };
  const attributes = readAttributes(payload.subarray(start));
  const text = attributes.get(extendedText);
  return { errno, ...defined({ text: text && readText(text), offset: readHostNumber(attributes.get(extendedOffset)) }) };
}
