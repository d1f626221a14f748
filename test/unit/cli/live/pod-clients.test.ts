import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findPodClients } from '../../../../src/cli/live/pod-clients.ts';
import { LiveError, type LiveClient } from '../../../../src/cli/live/live-client.ts';
import { limits } from '../../../../src/cli/limits.ts';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { livePaths } from '../../../../src/live/contract.ts';
import type { Cancel } from '../../../../src/system/clock.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { until } from '../../../lab/until.ts';
import { FakeApiServer, type Fault } from '../../kube/fake-api-server.ts';

const proxy = '/api/v1/namespaces/herald-system/pods/agent-1:10290/proxy';
const process = { command: 'agent', node: 'node1', version: '1.2.3', started: '2026-01-01T00:00:00.000Z' };
const answer = { process, items: ['a'] };

/** The answer of a busy process at its port (src/live/live-port.ts). */
const busy =
  (retryAfter?: string): Fault =>
  (response) =>
    void response.writeHead(429, retryAfter === undefined ? {} : { 'Retry-After': retryAfter }).end('{"error":"somebody else","fix":""}');

/** Records the pauses that were started. */
class PauseClock extends VirtualClock {
  readonly pauses: number[] = [];

  override after(milliseconds: number, callback: () => void): Cancel {
    this.pauses.push(milliseconds);
    return super.after(milliseconds, callback);
  }
}

let server: FakeApiServer;
let client: KubeClient;
let clock: PauseClock;
let stop: AbortController;
let pod: LiveClient;

beforeEach(async () => {
  server = await FakeApiServer.start();
  clock = new PauseClock();
  stop = new AbortController();
  client = new KubeClient({ server: server.url, credentials: async () => ({}), expired: () => undefined }, { clock });
  const metadata = { labels: { 'app.kubernetes.io/name': 'herald', 'app.kubernetes.io/component': 'agent' } };
  server.put('/api/v1/pods', 'agent-1', { metadata, spec: { nodeName: 'node1' }, status: { phase: 'Running' } }, 'herald-system');
  server.texts.set(`${proxy}${livePaths.index}`, JSON.stringify({ process }));
  server.texts.set(`${proxy}${livePaths.history}`, JSON.stringify(answer));
  const { clients } = await findPodClients(client, { namespace: 'herald-system' }, { clock, stopped: stop.signal });
  [pod] = clients as [LiveClient];
});

afterEach(async () => {
  client.close();
  await server.stop();
});

const asked = (): number => server.paths.filter((path) => path === `${proxy}${livePaths.history}`).length;
const begun = (milliseconds: number): number => clock.pauses.filter((pause) => pause === milliseconds).length;
const pausing = (milliseconds: number, times = 1): Promise<unknown> => until('a pause', () => begun(milliseconds) === times);

describe('a busy process (429)', () => {
  test.each([
    ['a number of seconds', '2', 2000],
    ['none, so a short pause', undefined, limits.liveBusyMilliseconds],
    ['0 seconds, so a short pause', '0', limits.liveBusyMilliseconds],
    ['a date, so a short pause', 'Wed, 21 Oct 2026 07:28:00 GMT', limits.liveBusyMilliseconds],
  ])('the client retries after the pause in Retry-After: %s', async (_, retryAfter, pause) => {
    server.next(busy(retryAfter), busy(retryAfter));
    const answered = pod.ask(livePaths.history, {});
    for (const times of [1, 2]) {
      await pausing(pause, times);
      const timers = clock.pending;
      clock.advance(pause - 1);
      expect({ asked: asked(), timers: clock.pending }).toEqual({ asked: times, timers });
      clock.advance(1);
    }
    expect(await answered).toEqual(answer);
    expect(asked()).toBe(3);
    expect(clock.pending).toBe(0);
  });

  test('the client gives up when the time for an answer is over, and names the fix', async () => {
    server.faults.set(`${proxy}${livePaths.history}`, busy('1'));
    const answered = pod.ask(livePaths.history, {}).catch((error: unknown) => error);
    for (const times of [1, 2, 3, 4]) {
      await pausing(1000, times);
      clock.advance(1000);
    }
    const error = await answered;
    expect(error).toBeInstanceOf(LiveError);
    expect(error).toMatchObject({
      message: 'it is busy with other queries (HTTP 429), and did not answer within 5 s',
      fix: 'try again in 1 s, or query its socket on its host: --socket',
    });
    expect(asked()).toBe(5);
    expect(clock.pending).toBe(0);
  });

  test('the client gives up at once when the requested pause exceeds the remaining time', async () => {
    server.next(busy('120'));
    await expect(pod.ask(livePaths.history, {})).rejects.toMatchObject({
      code: 'notAsked',
      fix: 'try again in 120 s, or query its socket on its host: --socket',
    });
    expect({ asked: asked(), pending: clock.pending }).toEqual({ asked: 1, pending: 0 });
  });

  test('the client ends its pause when the command is stopped', async () => {
    server.next(busy('2'));
    const answered = pod.ask(livePaths.history, {});
    await pausing(2000);
    stop.abort(new Error('SIGINT'));
    await expect(answered).rejects.toThrow('SIGINT');
    expect({ asked: asked(), pending: clock.pending }).toEqual({ asked: 1, pending: 0 });
  });

  test('a process that is busy from the first query is listed as not queried', async () => {
    server.faults.set(`${proxy}${livePaths.index}`, busy('120'));
    const found = await findPodClients(client, { namespace: 'herald-system' }, { clock, stopped: stop.signal });
    expect(found.clients).toEqual([]);
    expect(found.unasked).toMatchObject([{ who: 'the agent of node1', node: 'node1', why: expect.stringContaining('429') }]);
  });
});

test('the client gives up on a process that does not answer in time', async () => {
  server.next(() => undefined);
  const answered = pod.ask(livePaths.history, {}).catch((error: unknown) => error);
  await until('it is asked', () => asked() === 1);
  clock.advance(limits.liveMilliseconds);
  expect(await answered).toMatchObject({ message: "no answer within 5 s through the API server's pod proxy" });
});
