import { hostPrefix, type Prefix } from '../../../net/prefix.ts';
import { maximumPassword } from '../../limits.ts';
import type { KeySocket, LiveKey, TcpAoKey, TcpAoSockets } from '../../transport/transport.ts';
import { addTcpAoKey, removeTcpAoKey, requestTcpAoKey } from './socket-options.ts';

/**
 * Keys of TCP-AO in the kernel. RFC 5925 2.2 leaves the agreement on new keys to the operators of both ends, so both have a new key before one
 * of them drops the old.
 */
export const tcpAoSockets: TcpAoSockets = {
  problem(keys) {
    if (keys.length === 0) return 'TCP-AO needs at least one key';
    const isLong = ({ secret }: TcpAoKey): boolean => secret === '' || Buffer.byteLength(secret) > maximumPassword;
    return keys.some(isLong) ? `a secret of TCP-AO has from 1 to ${maximumPassword} octets` : undefined;
  },

  dial(socket, to, keys) {
    for (const [index, key] of keys.entries()) addTcpAoKey(socket, to, key, index === 0);
  },

  /** New keys come before old ones go, as far as their IDs differ, so that the socket is not without keys. */
  replace(socket, prefix, before, after) {
    const added = after.filter((key) => !before.some((each) => isSameKey(each, key)));
    const gone = before.filter((key) => !after.some((each) => isSameKey(each, key)));
    const present = new Set(before);
    const remove = (key: TcpAoKey): void => {
      present.delete(key);
      removeTcpAoKey(socket, prefix, key);
    };
    try {
      for (const key of gone) if (added.some((other) => hasSameId(key, other))) remove(key);
      for (const key of added) {
        addTcpAoKey(socket, prefix, key);
        present.add(key);
      }
      for (const key of gone) if (present.has(key)) remove(key);
    } catch (error) {
      for (const key of present) tryToRemove(socket, prefix, key);
      throw error;
    }
  },

  /**
   * New keys come first. Then the peer is asked to sign with the first of the list, and this end follows when the peer asks for it: each end goes
   * on with the key that both have. A key that is in use and goes is replaced at once.
   */
  replaceLive(socket, remote, present, wanted) {
    const problem = present.length === 0 ? 'the connection has no TCP-AO keys' : tcpAoSockets.problem(wanted);
    if (problem !== undefined) throw new Error(problem);
    const isWanted = ({ key }: LiveKey): boolean => wanted.some((other) => isSameKey(key, other));
    const kept = present.filter(isWanted);
    const gone = present.filter((each) => !isWanted(each));
    const added = wanted.filter((key) => !kept.some((each) => isSameKey(each.key, key)));
    const clashes = (key: TcpAoKey): boolean => gone.some((each) => hasSameId(each.key, key));
    const successor = wanted.find((key) => kept.some((each) => isSameKey(each.key, key))) ?? added.find((key) => !clashes(key));
    const [first] = wanted;
    if (successor === undefined || first === undefined) throw new Error('each key changes under an ID that it has in the connection');
    const add = (key: TcpAoKey): void => addTcpAoKey(socket, hostPrefix(remote), key);
    const remove = ({ key, prefix }: LiveKey, next: TcpAoKey): void => {
      removeTcpAoKey(socket, prefix, key, { current: successor, next });
    };
    for (const key of added) if (!clashes(key)) add(key);
    for (const each of gone) if (added.some((key) => hasSameId(each.key, key))) remove(each, successor);
    for (const key of added) if (clashes(key)) add(key);
    requestTcpAoKey(socket, first);
    for (const each of gone) if (!added.some((key) => hasSameId(each.key, key))) remove(each, first);
    return [...kept, ...added.map((key) => ({ key, prefix: hostPrefix(remote) }))];
  },
};

const isSameKey = (a: TcpAoKey, b: TcpAoKey): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The kernel refuses a key with the send ID or the receive ID of another one. */
const hasSameId = (a: TcpAoKey, b: TcpAoKey): boolean => a.sendId === b.sendId || a.receiveId === b.receiveId;

function tryToRemove(socket: KeySocket, prefix: Prefix, key: TcpAoKey): void {
  try {
    removeTcpAoKey(socket, prefix, key);
  } catch {
    // The error that led here is the one to report.
  }
}
