import type { Streamed } from '../diagnosis/event-stream.ts';
import { maximumTracedConnections } from '../limits.ts';
import type { Endpoint, Endpoints } from '../transport/transport.ts';
import { octets as joined } from '../wire/writer.ts';
import { captureHead, capturePacket } from './pcapng.ts';
import { tcpFlag, tcpPacket } from './tcp-packet.ts';
import type { TracedConnection, TraceEvent } from './trace-event.ts';

export interface CaptureOptions {
  /** The program that writes the file, for example "herald 1.2.3". */
  readonly application: string;
  /** The name of the peer. */
  readonly name: string;
}

/** Octets of a message per packet. Most messages fit into one packet, which is easiest to read. */
const segmentLength = 8_192;

/** Ports used if the transport does not know them: the BGP port, and an ephemeral port plus the number of the connection. */
const bgpPort = 179;
const ephemeralPorts = { first: 49_152, count: 16_384 } as const;

/** The next sequence number of each direction of a connection. */
interface Conversation {
  readonly ends: Endpoints;
  sent: number;
  received: number;
}

interface Segment {
  readonly direction: 'sent' | 'received';
  readonly flags: number;
  readonly payload?: Uint8Array;
  readonly comment?: string | undefined;
}

/**
 * Turns trace events into a capture file for Wireshark and tcpdump. The IP and TCP headers are synthetic. Addresses, ports, order, times
 * and message octets are real; segments, acknowledgements and the time to live are not those of the wire. A connection that is older than
 * the trace begins in the middle. Lost messages leave no gap in the sequence numbers, so that later messages stay readable.
 */
export class Capture {
  readonly #options: CaptureOptions;
  readonly #conversations = new Map<number, Conversation>();
  #lost = 0;

  constructor(options: CaptureOptions) {
    this.#options = options;
  }

  /** Returns the beginning of the file. */
  head(): Uint8Array {
    return captureHead(this.#options.application, this.#options.name);
  }

  /** Returns the packets of an event; empty if it has none. */
  add(event: Streamed<TraceEvent>): Uint8Array {
    switch (event.type) {
      case 'lost':
        this.#lost += event.count;
        return joined();
      case 'present':
        return joined();
      case 'opened':
        return this.#handshake(event);
      case 'message':
        return this.#data(event, event.direction, event.octets);
      case 'unreadable':
        return this.#data(event, 'received', event.octets, event.problem);
      case 'closed':
        return this.#end(event);
    }
  }

  #handshake({ at, connection }: TraceEvent): Uint8Array {
    const conversation = this.#conversationOf(connection, 0);
    const opening = connection.openedBy === 'us' ? 'sent' : 'received';
    const answering = opening === 'sent' ? 'received' : 'sent';
    return joined(
      this.#packet(at, conversation, { direction: opening, flags: tcpFlag.syn }),
      this.#packet(at, conversation, { direction: answering, flags: tcpFlag.syn + tcpFlag.ack }),
      this.#packet(at, conversation, { direction: opening, flags: tcpFlag.ack }),
    );
  }

  #data({ at, connection }: TraceEvent, direction: 'sent' | 'received', message: Uint8Array, comment?: string): Uint8Array {
    const conversation = this.#conversationOf(connection);
    const packets: Uint8Array[] = [];
    for (let from = 0; from < message.length; from += segmentLength) {
      const payload = message.subarray(from, from + segmentLength);
      const isLast = from + segmentLength >= message.length;
      const flags = tcpFlag.ack + (isLast ? tcpFlag.psh : 0);
      packets.push(this.#packet(at, conversation, { direction, flags, payload, comment: isLast ? comment : undefined }));
    }
    return joined(...packets);
  }

  #end({ at, connection, by, problem }: Extract<TraceEvent, { type: 'closed' }>): Uint8Array {
    const conversation = this.#conversations.get(connection.number);
    // The connection was never made, or the trace has nothing of it.
    if (conversation === undefined) return joined();
    this.#conversations.delete(connection.number);
    const flags = tcpFlag.ack + (problem === undefined ? tcpFlag.fin : tcpFlag.rst);
    return this.#packet(at, conversation, { direction: by === 'us' ? 'sent' : 'received', flags, comment: problem });
  }

  #packet(at: Date, conversation: Conversation, { direction, flags, payload = nothing, comment }: Segment): Uint8Array {
    const { local, remote } = conversation.ends;
    const [from, to] = direction === 'sent' ? [local, remote] : [remote, local];
    const other = direction === 'sent' ? 'received' : 'sent';
    const acknowledgement = (flags & tcpFlag.ack) === 0 ? 0 : conversation[other];
    const packet = tcpPacket({ from, to, sequence: conversation[direction], acknowledgement, flags, payload });
    const taken = payload.length + ((flags & (tcpFlag.syn | tcpFlag.fin)) === 0 ? 0 : 1);
    conversation[direction] = (conversation[direction] + taken) % 2 ** 32;
    const lostBefore = this.#lost;
    this.#lost = 0;
    const missing =
      lostBefore === 0 ? undefined : `${lostBefore} messages before this one are missing: they came faster than they were read`;
    const notes = [missing, comment].filter((note) => note !== undefined).join('; ');
    return capturePacket(at, packet, { ...(notes === '' ? {} : { comment: notes }), lostBefore });
  }

  /**
   * Returns the conversation of a connection. An older connection starts after its handshake, which Wireshark treats as a capture that
   * began late.
   */
  #conversationOf(connection: TracedConnection, start = 1): Conversation {
    const known = this.#conversations.get(connection.number);
    if (known !== undefined) return known;
    const conversation = { ends: endsOf(connection), sent: start, received: start };
    const [oldest] = this.#conversations.keys();
    // The end of an old connection may be among the lost events.
    if (oldest !== undefined && this.#conversations.size >= maximumTracedConnections) this.#conversations.delete(oldest);
    this.#conversations.set(connection.number, conversation);
    return conversation;
  }
}

const nothing = new Uint8Array(0);

function endsOf({ ends, openedBy, number }: TracedConnection): Endpoints {
  if (ends !== undefined) return ends;
  const unknown = { family: 4, value: 0n } as const;
  const bgp: Endpoint = { address: unknown, port: bgpPort };
  const other: Endpoint = { address: unknown, port: ephemeralPorts.first + (number % ephemeralPorts.count) };
  return openedBy === 'us' ? { local: other, remote: bgp } : { local: bgp, remote: other };
}
