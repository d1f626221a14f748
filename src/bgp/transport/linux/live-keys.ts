import { hostPrefix, prefixContains, type Prefix } from '../../../net/prefix.ts';
import type { Address } from '../../../net/address.ts';
import type { PeerKey, TcpAoKey } from '../transport.ts';
import { hasSameId, isSameKey } from './peer-keys.ts';
import type { RawSocket } from './socket.ts';
import { addTcpAoKey, removeTcpAoKey, requestTcpAoKey, tcpAoProblem } from './tcp-ao.ts';

/** A key of an open connection. The kernel finds it by the prefix with which it was set. */
interface LiveKey {
  readonly key: TcpAoKey;
  readonly prefix: Prefix;
}

/**
 * The TCP-AO keys of one connection, which may change while it is open. RFC 5925 2.2 leaves the agreement on new keys to the operators of both
 * ends, so both have a new key before one of them drops the old.
 */
export class LiveKeys {
  #present: readonly LiveKey[];

  constructor(present: readonly LiveKey[]) {
    this.#present = present;
  }

  static ofDialed(address: Address, keys: readonly TcpAoKey[]): LiveKeys {
    return new LiveKeys(keys.map((key) => ({ key, prefix: hostPrefix(address) })));
  }

  /** An accepted connection has the keys that the listening socket had for its address. */
  static ofAccepted(address: Address, ofListener: Iterable<PeerKey>): LiveKeys {
    const matching = [...ofListener].filter(({ prefix }) => prefixContains(prefix, address));
    return new LiveKeys(matching.flatMap(({ prefix, tcpAo = [] }) => tcpAo.map((key) => ({ key, prefix }))));
  }

  /**
   * Makes these the keys of the connection. New keys come first. Then the peer is asked to sign with the first of the list, and this end follows
   * when the peer asks for it: each end goes on with the key that both have. A key that is in use and goes is replaced at once. Throws when
   * the kernel refuses a part; then the connection must be closed.
   */
  replace(socket: RawSocket, address: Address, wanted: readonly TcpAoKey[]): void {
    const problem = this.#present.length === 0 ? 'the connection has no TCP-AO keys' : tcpAoProblem(wanted);
    if (problem !== undefined) throw new Error(problem);
    const isWanted = ({ key }: LiveKey): boolean => wanted.some((other) => isSameKey(key, other));
    const kept = this.#present.filter(isWanted);
    const gone = this.#present.filter((each) => !isWanted(each));
    const added = wanted.filter((key) => !kept.some((each) => isSameKey(each.key, key)));
    const clashes = (key: TcpAoKey): boolean => gone.some((each) => hasSameId(each.key, key));
    const successor = wanted.find((key) => kept.some((each) => isSameKey(each.key, key))) ?? added.find((key) => !clashes(key));
    const [first] = wanted;
    if (successor === undefined || first === undefined) throw new Error('each key changes under an ID that it has in the connection');
    const add = (key: TcpAoKey): void => addTcpAoKey(socket, hostPrefix(address), key);
    const remove = ({ key, prefix }: LiveKey, next: TcpAoKey): void => {
      removeTcpAoKey(socket, prefix, key, { current: successor, next });
    };
    for (const key of added) if (!clashes(key)) add(key);
    for (const each of gone) if (added.some((key) => hasSameId(each.key, key))) remove(each, successor);
    for (const key of added) if (clashes(key)) add(key);
    requestTcpAoKey(socket, first);
    for (const each of gone) if (!added.some((key) => hasSameId(each.key, key))) remove(each, first);
    this.#present = [...kept, ...added.map((key) => ({ key, prefix: hostPrefix(address) }))];
  }
}
