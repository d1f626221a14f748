import { formatAddress, type Address } from '../../../../src/net/address.ts';
import type { TransportFailure } from '../../../../src/bgp/transport/transport.ts';
import type { Connection, ConnectionEvents, Incoming, ListenerEvents, SocketOptions } from '../../../../src/bgp/transport/transport.ts';

/** Records the events of one connection. */
export class ConnectionRecorder implements ConnectionEvents {
  /** "connected 192.0.2.1", "data", "drain", "closed", "closed: reason", in order; consecutive data events are one entry. */
  readonly events: string[] = [];
  failure: TransportFailure | undefined;
  #received: Uint8Array[] = [];

  connected(localAddress: Address | undefined): void {
    this.events.push(`connected ${localAddress === undefined ? '?' : formatAddress(localAddress)}`);
  }

  data(bytes: Uint8Array): void {
    this.#received.push(bytes);
    if (this.events.at(-1) !== 'data') this.events.push('data');
  }

  drain(): void {
    this.events.push('drain');
  }

  closed(failure: TransportFailure | undefined): void {
    this.failure = failure;
    this.events.push(failure === undefined ? 'closed' : `closed: ${failure.kind}`);
  }

  get isConnected(): boolean {
    return this.events.some((event) => event.startsWith('connected'));
  }

  get isClosed(): boolean {
    return this.events.some((event) => event.startsWith('closed'));
  }

  get received(): Buffer {
    return Buffer.concat(this.#received);
  }
}

export interface Accepted {
  readonly incoming: Incoming;
  readonly recorder: ConnectionRecorder;
  readonly connection: Connection;
}

/** Accepts or rejects every connection and records it. */
export class ListenerRecorder implements ListenerEvents {
  port: number | undefined;
  failure: TransportFailure | undefined;
  readonly accepted: Accepted[] = [];
  readonly rejected: Incoming[] = [];
  /** The options for the next accepted connections; undefined rejects them. */
  socketOptions: SocketOptions | undefined = { ttl: 255 };

  listening(port: number): void {
    this.port = port;
  }

  connection(incoming: Incoming): void {
    if (this.socketOptions === undefined) {
      this.rejected.push(incoming);
      incoming.reject();
      return;
    }
    const recorder = new ConnectionRecorder();
    this.accepted.push({ incoming, recorder, connection: incoming.accept(this.socketOptions, recorder) });
  }

  failed(failure: TransportFailure): void {
    this.failure = failure;
  }
}
