import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { ProcessEndpoints } from '../../../../../src/cli/process/endpoints/process-endpoints.ts';
import { livePaths } from '../../../../../src/live/contract.ts';
import { pageOf } from '../../../../../src/live/query.ts';
import { httpListening, type ListenHttp } from '../../../../../src/system/http/http-listener.ts';
import { limits as httpLimits } from '../../../../../src/system/http/limits.ts';
import { silentLog } from '../../../../../src/system/log.ts';
import { VirtualClock } from '../../../../../src/system/virtual-clock.ts';
import { limits } from '../../../../../src/telemetry/limits.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/**
 * The metrics port of an agent, on real sockets. A page of its history is far larger than the kernel buffers for a client that does not
 * read.
 */
async function metricsPort(address: string): Promise<number> {
  const port = Promise.withResolvers<number>();
  const listen: ListenHttp = async (place, answer, bounds) => {
    const listener = await httpListening(httpLimits)(place, answer, bounds);
    port.resolve(listener.port);
    return listener;
  };
  const metricsAddress = { places: [{ address, port: 0 }] };
  const options = { metricsAddress, healthAddress: { places: [] }, command: 'agent', socket: 'none', live: 'metrics' } as const;
  const telemetry = new ProcessEndpoints({ clock: new VirtualClock(), nodejs: 'v24' }, options, silentLog, listen);
  ends.push(() => telemetry.close());
  const entries = Array.from({ length: 500 }, (_, i) => ({ name: `n${1000 + i}`, text: 'x'.repeat(40_000) }));
  telemetry.live.addList(livePaths.history, { parameters: [], items: (query) => pageOf(entries, ({ name }) => name, query) });
  return port.promise;
}

/** A client that sends a request and leaves the connection open. */
function ask(address: string, port: number, path: string): Socket {
  const socket = connect({ host: address, port, allowHalfOpen: true }).on('error', () => undefined);
  ends.push(() => socket.destroy());
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return socket;
}

test.each(['127.0.0.1', '::1'])('a scrape is answered although many clients query %s and keep their connections', async (address) => {
  const port = await metricsPort(address);
  // This client does not read, so its connection is the only one that stays open.
  await once(ask(address, port, '/live/v1/history'), 'readable');
  for (const path of ['/live', '/live/v1/history', '/']) {
    for (let n = 0; n < limits.connections; n++) {
      const socket = ask(address, port, path);
      // "end" or "close": there was no free connection.
      await new Promise((resolve) => socket.once('data', resolve).once('end', resolve).once('close', resolve));
    }
    const host = address.includes(':') ? `[${address}]` : address;
    const scrape = await fetch(`http://${host}:${port}/metrics`);
    expect([scrape.status, await scrape.text()]).toEqual([200, expect.stringContaining('herald_build_info')]);
  }
});
