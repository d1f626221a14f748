import { defined } from '../../../lang/defined.ts';
import type { Clock } from '../../../system/clock.ts';
import { MalformedNetlink, NetlinkError } from '../../../system/netlink/error.ts';
import { netfilterProtocol, openNetlink, type NetlinkSocket } from '../../../system/netlink/socket.ts';
import { SerialQueue } from '../../../lang/serial-queue.ts';
import { DataplaneError } from '../../dataplane.ts';
import { NfTablesConnection } from './nf-tables-connection.ts';

/**
 * Answers questions about nf_tables of any program. It opens a socket for the first question and keeps it for the next ones, until `close`
 * or a failure. A question after that opens another one. `networkNamespace` is a file such as /run/netns/node1. `open` lets tests count
 * sockets.
 */
export class RulesetLookup {
  readonly #clock: Clock;
  readonly #networkNamespace: string | undefined;
  readonly #open: typeof openNetlink;
  readonly #queue = new SerialQueue();
  #socket: NetlinkSocket | undefined;
  #connection: NfTablesConnection | undefined;

  constructor(clock: Clock, networkNamespace?: string, open = openNetlink) {
    this.#clock = clock;
    this.#networkNamespace = networkNamespace;
    this.#open = open;
  }

  /** Returns the number of the latest transaction. Undefined when this machine has no FFI or the kernel does not tell. */
  async generation(): Promise<number | undefined> {
    try {
      return await this.#ask((connection) => connection.generation());
    } catch (error) {
      if (error instanceof NetlinkError || error instanceof MalformedNetlink) return undefined;
      throw error;
    }
  }

  /** Returns true if there is a table of this name in family netdev. Rejects with DataplaneError. */
  async hasNetdevTable(name: string): Promise<boolean> {
    try {
      const found = await this.#ask((connection) => connection.hasNetdevTable(name));
      if (found === undefined) throw new DataplaneError('unavailable', 'netlink sockets are not available');
      return found;
    } catch (error) {
      if (!(error instanceof NetlinkError || error instanceof MalformedNetlink)) throw error;
      const code = error instanceof NetlinkError && error.code === 'EPERM' ? 'permission' : 'failed';
      throw new DataplaneError(code, error.message, { cause: error });
    }
  }

  /** Closes the socket after the questions asked so far. */
  close(): Promise<void> {
    return this.#queue.run(() => {
      this.#closeNow();
      return Promise.resolve();
    });
  }

  /** Undefined: this machine has no FFI. */
  #ask<T>(question: (connection: NfTablesConnection) => Promise<T>): Promise<T | undefined> {
    return this.#queue.run(async () => {
      try {
        const connection = (this.#connection ??= this.#connect());
        return connection === undefined ? undefined : await question(connection);
      } catch (error) {
        this.#closeNow();
        throw error;
      }
    });
  }

  #connect(): NfTablesConnection | undefined {
    this.#socket = this.#open({ protocol: netfilterProtocol, ...defined({ networkNamespace: this.#networkNamespace }) });
    return this.#socket === undefined ? undefined : new NfTablesConnection(this.#socket, this.#clock);
  }

  #closeNow(): void {
    this.#socket?.close();
    this.#socket = undefined;
    this.#connection = undefined;
  }
}
