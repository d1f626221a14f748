import { SOL_SOCKET } from '../../../../src/system/ffi/inet-socket.ts';
import type { Libc } from '../../../../src/system/ffi/libc.ts';

const SO_BINDTODEVICE = 25;

/** A call on a socket, in the order of the calls: "device red", "option 41/67", "bind". */
interface SocketCall {
  readonly fd: number;
  readonly call: string;
}

/**
 * Records the calls that prepare sockets, and makes them. Binding to one of `devices` only seems to succeed: the kernel that runs the tests
 * may have no such devices.
 */
export function recordingLibc(libc: Libc, devices: readonly string[]): { readonly libc: Libc; readonly calls: readonly SocketCall[] } {
  const calls: SocketCall[] = [];
  return {
    calls,
    libc: {
      ...libc,
      setsockopt: (fd, level, name, value, length) => {
        if (level !== SOL_SOCKET || name !== SO_BINDTODEVICE) {
          calls.push({ fd, call: `option ${level}/${name}` });
          return libc.setsockopt(fd, level, name, value, length);
        }
        const device = Buffer.from(value.subarray(0, length)).toString('utf8').replace(/\0$/, '');
        calls.push({ fd, call: `device ${device}` });
        return devices.includes(device) ? 0 : libc.setsockopt(fd, level, name, value, length);
      },
      bind: (fd, address, length) => {
        calls.push({ fd, call: 'bind' });
        return libc.bind(fd, address, length);
      },
    },
  };
}
