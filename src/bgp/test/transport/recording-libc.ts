import { SOL_SOCKET } from '../../../../src/system/ffi/inet-socket.ts';
import type { Libc } from '../../../../src/system/ffi/libc.ts';

const SO_BINDTODEVICE = 25;

/** A call that prepares a socket: binding it to an address or to a device, or another option, in the order of the calls. */
export interface SocketCall {
  readonly fd: number;
  readonly call: 'bind' | 'device' | 'option';
  readonly level?: number;
  readonly name?: number;
  readonly value?: Buffer;
}

/**
 * Records the calls that prepare sockets. `answer` plays a kernel that has more than the one that runs the tests: 0 for success, or an error
 * number. Without an answer the call is made.
 */
export function recordingLibc(
  libc: Libc,
  answer: (call: SocketCall) => number | undefined,
): { readonly libc: Libc; readonly calls: readonly SocketCall[] } {
  const calls: SocketCall[] = [];
  let failure = 0;
  return {
    calls,
    libc: {
      ...libc,
      setsockopt: (fd, level, name, bytes, length) => {
        const isDevice = level === SOL_SOCKET && name === SO_BINDTODEVICE;
        const value = Buffer.from(bytes.subarray(0, length));
        const call: SocketCall = { fd, call: isDevice ? 'device' : 'option', level, name, value };
        calls.push(call);
        failure = answer(call) ?? -1;
        if (failure < 0) return libc.setsockopt(fd, level, name, bytes, length);
        return failure === 0 ? 0 : -1;
      },
      bind: (fd, address, length) => {
        calls.push({ fd, call: 'bind' });
        failure = -1;
        return libc.bind(fd, address, length);
      },
      errno: () => (failure > 0 ? failure : libc.errno()),
    },
  };
}
