import { address, addressBytes } from '../../../../src/net/address.ts';
import type { Protocol } from '../../../../src/net/frontend.ts';
import { messageTypes } from '../../../../src/system/netlink/message.ts';
import { MessageWriter } from '../../../../src/system/netlink/message-writer.ts';

/** An entry of connection tracking. What is absent is that of an answered TCP connection that has just ended. */
export interface EntryLiteral {
  readonly id: number;
  readonly protocol?: Protocol;
  readonly to?: string;
  readonly port?: number;
  readonly from?: string;
  readonly endpointPort?: number;
  /** Default: replied, assured and translated. */
  readonly status?: number;
  /** 0: none. Default: TIME_WAIT. */
  readonly state?: number;
  /** Undefined: the kernel does not mention it. */
  readonly secondsLeft?: number | undefined;
}

const numbers = { TCP: 6, UDP: 17, SCTP: 132 } as const;
const portBytes = (port: number): Uint8Array => Uint8Array.of(port >> 8, port & 255);

/** Writes a message of a list, or of an event, about an entry. */
export function writeEntry(writer: MessageWriter, literal: EntryLiteral, type = 0x100, sequence = 1): void {
  const { id, protocol = 'TCP', to = '192.0.2.1', port = 80, from = '10.1.0.1', endpointPort = 8080, status = 0x26, state = 7 } = literal;
  const secondsLeft = 'secondsLeft' in literal ? literal.secondsLeft : 120;
  const start = writer.beginMessage({ type, flags: 0, sequence });
  writer.raw(Uint8Array.of(to.includes(':') ? 10 : 2, 0, 0, 0));
  const tuple = (which: number, source: string, destination: string, ports: readonly [number, number]): void => {
    const [sourceType, destinationType] = to.includes(':') ? [3, 4] : [1, 2];
    const whole = writer.beginNested(which);
    const addresses = writer.beginNested(1);
    writer.bytesAttribute(sourceType, addressBytes(address(source)));
    writer.bytesAttribute(destinationType, addressBytes(address(destination)));
    writer.endNested(addresses);
    const ofProtocol = writer.beginNested(2);
    writer.bytesAttribute(1, Uint8Array.of(numbers[protocol]));
    writer.bytesAttribute(2, portBytes(ports[0]));
    writer.bytesAttribute(3, portBytes(ports[1]));
    writer.endNested(ofProtocol);
    writer.endNested(whole);
  };
  const client = to.includes(':') ? '2001:db8::9' : '198.51.100.9';
  tuple(1, client, to, [40_000, port]);
  tuple(2, from, client, [endpointPort, 40_000]);
  writer.numberAttribute(3, status);
  if (secondsLeft !== undefined) writer.numberAttribute(7, secondsLeft);
  if (state > 0) {
    const info = writer.beginNested(4);
    const inner = writer.beginNested(protocol === 'SCTP' ? 3 : 1);
    writer.bytesAttribute(1, Uint8Array.of(state));
    writer.endNested(inner);
    writer.endNested(info);
  }
  writer.numberAttribute(12, id);
  writer.endMessage(start);
}

/** Returns the datagrams of a list. */
export function listOf(entries: readonly EntryLiteral[], perDatagram = 100): Uint8Array[] {
  const datagrams: Uint8Array[] = [];
  for (let start = 0; start < entries.length; start += perDatagram) {
    const writer = new MessageWriter();
    for (const entry of entries.slice(start, start + perDatagram)) writeEntry(writer, entry);
    datagrams.push(writer.bytes());
  }
  const writer = new MessageWriter();
  const end = writer.beginMessage({ type: messageTypes.done, flags: 0, sequence: 1 });
  writer.raw(new Uint8Array(4));
  writer.endMessage(end);
  return [...datagrams, writer.bytes()];
}
