import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../../../src/system/clock.ts';
import { loadLibc } from '../../../../src/system/ffi/libc.ts';
import { followArrivals } from '../../../../src/system/netlink/arrivals.ts';
import { followEvents } from '../../../../src/system/netlink/events.ts';
import { eventPoll } from '../../../../src/system/netlink/limits.ts';
import { routeProtocol } from '../../../../src/system/netlink/socket.ts';

const libc = loadLibc();
const [inet, datagram, nonBlocking] = [2, 2, 0o4000];
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A socket of UDP that sends to itself. Its datagrams arrive before `send` returns. */
function socketToItself() {
  if (libc === undefined) throw new Error('there is no FFI');
  const fd = libc.socket(inet, datagram | nonBlocking, 0);
  cleanups.push(() => libc.close(fd));
  const address = Buffer.from([inet, 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  expect(libc.bind(fd, address, address.length)).toBe(0);
  libc.getsockname(fd, address, Uint32Array.of(address.length));
  return {
    fd,
    send: () => expect(libc.sendto(fd, Buffer.of(1), 1, 0, address, address.length)).toBe(1),
    receive: () => libc.recv(fd, Buffer.alloc(1), 1, 0),
  };
}

function follow(fd: number) {
  const seen = { times: 0 };
  const arrivals = followArrivals(fd, () => seen.times++);
  if (arrivals === undefined) throw new Error('the kernel refuses signals');
  cleanups.push(() => arrivals.stop());
  return { seen, arrivals };
}

describe.skipIf(libc === undefined)('arrivals at a socket', () => {
  test('the next datagram is reported once, and a later one when it is awaited again', async () => {
    const socket = socketToItself();
    const { seen, arrivals } = follow(socket.fd);
    socket.send();
    await sleep(50);
    expect(seen.times).toBe(0);
    expect(arrivals.awaitNext()).toBe(true);
    for (let count = 0; count < 3; count++) socket.send();
    await expect.poll(() => seen.times).toBe(1);
    socket.send();
    await sleep(50);
    expect(seen.times).toBe(1);
    arrivals.awaitNext();
    socket.send();
    await expect.poll(() => seen.times).toBe(2);
    expect(socket.receive()).toBe(1);
  });

  test('several sockets are followed, and nothing is reported after the end', async () => {
    const sockets = [socketToItself(), socketToItself()] as const;
    const [first, second] = [follow(sockets[0].fd), follow(sockets[1].fd)];
    first.arrivals.awaitNext();
    second.arrivals.awaitNext();
    first.arrivals.stop();
    sockets[0].send();
    sockets[1].send();
    await expect.poll(() => second.seen.times).toBe(1);
    expect(first.seen.times).toBe(0);
    second.arrivals.awaitNext();
    second.arrivals.stop();
    expect(process.listenerCount('SIGURG')).toBe(0);
    // The signal ends no process that does not listen for it.
    sockets[1].send();
    await sleep(50);
    expect(second.seen.times).toBe(1);
  });

  test('a worker thread gets no signals, so it must poll', async () => {
    const file = new URL('../../../../src/system/netlink/arrivals.ts', import.meta.url);
    const worker = new Worker(
      `import(${JSON.stringify(file.href)}).then(({ followArrivals }) =>
        require('node:worker_threads').parentPort.postMessage(followArrivals(0, () => undefined) === undefined))`,
      { eval: true },
    );
    expect(await new Promise((resolve) => worker.once('message', resolve))).toBe(true);
    await worker.terminate();
  });

  test('a socket without events is polled after a signal, and not ten times a second', async () => {
    let timers = 0;
    const clock: Clock = {
      ...systemClock,
      after(milliseconds, callback) {
        timers++;
        return systemClock.after(milliseconds, callback);
      },
    };
    const events = followEvents({ protocol: routeProtocol, groups: [] }, clock, {
      onMessage: () => undefined,
      onLoss: () => undefined,
      onEnd: () => undefined,
    });
    cleanups.push(() => events.stop());
    await sleep(4 * eventPoll);
    // The first poll, and the next one after a second.
    expect(timers).toBe(2);
    process.kill(process.pid, 'SIGURG');
    await expect.poll(() => timers).toBe(4);
    await sleep(4 * eventPoll);
    expect(timers).toBe(4);
  });
});
