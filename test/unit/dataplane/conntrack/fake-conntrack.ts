import { addressBytes, type Address } from '../../../../src/net/address.ts';
import type { Protocol } from '../../../../src/net/frontend.ts';
import { messageFlags, messageTypes } from '../../../../src/system/netlink/message.ts';
import { MessageWriter } from '../../../../src/system/netlink/message-writer.ts';
import type { NetlinkSocket } from '../../../../src/system/netlink/socket.ts';

export interface FlowLiteral {
  readonly protocol: Protocol;
  readonly destination: Address;
  readonly port: number;
  readonly secondsLeft: number;
  /** The state number of a TCP connection. Default: ESTABLISHED. */
  readonly tcpState?: number;
  /** The state number of an SCTP association. Default: ESTABLISHED. */
  readonly sctpState?: number;
  /** The endpoint that the destination is translated to. Default: it is not. */
  readonly endpoint?: { readonly address: Address; readonly port: number };
  /** From the client and from the endpoint. Default: the kernel does not count. */
  readonly packets?: readonly [number, number];
  readonly replied?: boolean;
  /** Octets to write as the server's address, instead of the right ones. */
  readonly replySource?: Uint8Array;
}

const protocolNumbers = { TCP: 6, UDP: 17, SCTP: 132 } as const;

/** A kernel that lists the flows of the requested family. The first `interruptions` lists are reported as interrupted. */
export class FakeConntrack implements NetlinkSocket {
  readonly fd = -1;
  readonly port = 1;
  readonly #flows: readonly FlowLiteral[];
  #interruptions: number;
  #waiting: Uint8Array[] = [];
  closed = 0;

  constructor(flows: readonly FlowLiteral[], interruptions = 0) {
    this.#flows = flows;
    this.#interruptions = interruptions;
  }

  async send(datagram: Uint8Array): Promise<void> {
    const sequence = new DataView(datagram.buffer, datagram.byteOffset).getUint32(8, true);
    const family = datagram[16] === 2 ? 4 : 6;
    const flags = this.#interruptions-- > 0 ? messageFlags.dumpInterrupted : 0;
    const writer = new MessageWriter();
    for (const flow of this.#flows.filter(({ destination }) => destination.family === family)) {
      const start = writer.beginMessage({ type: 0x100, flags, sequence });
      writeFlow(writer, flow);
      writer.endMessage(start);
    }
    const end = writer.beginMessage({ type: messageTypes.done, flags, sequence });
    writer.raw(new Uint8Array(4));
    writer.endMessage(end);
    this.#waiting.push(writer.bytes());
  }

  receive(): Uint8Array | undefined {
    return this.#waiting.shift();
  }

  async receiveInThread(): Promise<Uint8Array | undefined> {
    return this.receive();
  }

  setMembership(): boolean {
    return false;
  }

  close(): void {
    this.closed++;
  }
}

/** Writes what Herald reads of a flow, in the format of the kernel's ctnetlink_fill_info. */
function writeFlow(writer: MessageWriter, flow: FlowLiteral): void {
  const { protocol, destination, port, secondsLeft, tcpState = 3, sctpState = 4, replied = true, endpoint, packets } = flow;
  const replySource = flow.replySource ?? addressBytes(endpoint?.address ?? destination);
  const client = addressBytes({ ...destination, value: destination.value + 1n });
  const families = { 4: { source: 1, destination: 2 }, 6: { source: 3, destination: 4 } } as const;
  const tuple = (type: number, from: Uint8Array, to: Uint8Array, ports: readonly [number, number]): void => {
    const outer = writer.beginNested(type);
    const addresses = writer.beginNested(1);
    writer.bytesAttribute(families[destination.family].source, from);
    writer.bytesAttribute(families[destination.family].destination, to);
    writer.endNested(addresses);
    const inner = writer.beginNested(2);
    writer.bytesAttribute(1, Uint8Array.of(protocolNumbers[protocol]));
    for (const [index, each] of ports.entries()) writer.bytesAttribute(2 + index, Uint8Array.of(each >> 8, each & 0xff));
    writer.endNested(inner);
    writer.endNested(outer);
  };
  writer.raw(new Uint8Array(4));
  tuple(1, client, addressBytes(destination), [40_000, port]);
  tuple(2, replySource, client, [endpoint?.port ?? port, 40_000]);
  writer.numberAttribute(3, (replied ? 0x2 : 0) | (endpoint === undefined ? 0 : 0x20));
  for (const [index, count] of (packets ?? []).entries()) {
    const counters = writer.beginNested(9 + index);
    writer.bytesAttribute(1, Uint8Array.of(0, 0, 0, 0, 0, 0, count >> 8, count & 0xff));
    writer.endNested(counters);
  }
  writer.numberAttribute(7, secondsLeft);
  if (protocol === 'UDP') return;
  const state = writer.beginNested(4);
  const inner = writer.beginNested(protocol === 'TCP' ? 1 : 3);
  writer.bytesAttribute(1, Uint8Array.of(protocol === 'TCP' ? tcpState : sctpState));
  writer.endNested(inner);
  writer.endNested(state);
}
