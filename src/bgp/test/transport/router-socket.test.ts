import { expect, test } from 'vitest';
import { openRouterSocket } from '../../../../src/bgp/transport/linux/router-socket.ts';
import type { Libc } from '../../../../src/system/ffi/libc.ts';

/** Gives out descriptor 7 and refuses the first option with EPERM. */
function refusingLibc(closed: number[]): Libc {
  const libc: Partial<Libc> = {
    socket: () => 7,
    setsockopt: () => -1,
    errno: () => 1,
    interfaceIndex: () => 2,
    close: (fd) => closed.push(fd),
  };
  return libc as Libc;
}

test('a router socket whose option the kernel refuses is closed, and the error has the code', () => {
  const closed: number[] = [];
  expect(() => openRouterSocket(refusingLibc(closed), 'eth0')).toThrow(expect.objectContaining({ code: 'EPERM' }) as Error);
  expect(closed).toEqual([7]);
});
