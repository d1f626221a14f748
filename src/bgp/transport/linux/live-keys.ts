import { hostPrefix, prefixContains } from '../../../net/prefix.ts';
import type { Address } from '../../../net/address.ts';
import type { LiveKey, PeerKey, TcpAo } from '../transport.ts';
import type { RawSocket } from './socket.ts';

/** The TCP-AO keys of one connection, which may change while it is open. */
export class LiveKeys {
  #present: readonly LiveKey[];

  constructor(present: readonly LiveKey[]) {
    this.#present = present;
  }

  static ofDialed(address: Address, tcpAo: TcpAo | undefined): LiveKeys {
    return new LiveKeys((tcpAo?.keys ?? []).map((key) => ({ key, prefix: hostPrefix(address) })));
  }

  /** An accepted connection has the keys that the listening socket had for its address. */
  static ofAccepted(address: Address, ofListener: Iterable<PeerKey>): LiveKeys {
    const matching = [...ofListener].filter(({ prefix }) => prefixContains(prefix, address));
    return new LiveKeys(matching.flatMap(({ prefix, tcpAo }) => (tcpAo?.keys ?? []).map((key) => ({ key, prefix }))));
  }

  /** Makes these the keys of the connection. Throws when the kernel refuses a part; then the connection must be closed. */
  replace(socket: RawSocket, address: Address, wanted: TcpAo): void {
    this.#present = wanted.sockets.replaceLive(socket, address, this.#present, wanted.keys);
  }
}
