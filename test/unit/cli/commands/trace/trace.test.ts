import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { traceEndpoint } from '../../../../../src/agent/live/bgp-trace-endpoint.ts';
import { decodeTraceLine, type TraceStream } from '../../../../../src/bgp/index.ts';
import { maximumTracedMessages } from '../../../../../src/bgp/limits.ts';
import { bgpCommand } from '../../../../../src/cli/commands/trace/trace-command.ts';
import { SocketRequestHandler } from '../../../../../src/cli/process/endpoints/socket-request-handler.ts';
import { defined } from '../../../../../src/lang/defined.ts';
import { debugPaths } from '../../../../../src/live/contract.ts';
import { LiveApi } from '../../../../../src/live/live-api.ts';
import { limits } from '../../../../../src/live/limits.ts';
import { requestLocal, listenLocal, type LocalListener } from '../../../../../src/system/http/local-socket.ts';
import { until } from '../../../../lab/until.ts';
import { pair, type Pair } from '../../../../../src/bgp/test/two-speakers.ts';
import { readCapture } from '../../../../../src/bgp/test/trace/capture-file.ts';
import { inProcess } from '../../in-process.ts';
import type { Outcome } from '../../program.ts';

let directory: string;
let socket: string;
let listener: LocalListener;
let speakers: Pair;

/** The agent of node1, whose speaker has one established session, with "right". */
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'herald-trace-'));
  socket = join(directory, 'agent.sock');
  speakers = pair();
  speakers.right.start();
  speakers.left.start({ passive: true });
  speakers.clock.advance(1000);
  const live = new LiveApi(speakers.clock, { command: 'agent', version: '0' });
  live.setProcess({ node: 'node1' });
  const answers = new SocketRequestHandler(live);
  answers.handle(debugPaths.bgpTrace, traceEndpoint(speakers.left.speaker));
  listener = await listenLocal(socket, answers.answer, limits);
});
afterEach(async () => {
  await listener.close();
  await rm(directory, { recursive: true });
});

const trace = (words: readonly string[], stopped = new AbortController().signal, printError?: (line: string) => void): Promise<Outcome> =>
  inProcess(bgpCommand, ['trace', '--socket', socket, ...words], { stopped, ...defined({ printError }) });

const announce = (last: number): void => {
  speakers.left.peer.routes.set([{ prefix: `192.0.2.${last}/32` }]);
  speakers.clock.advance(10);
};

/** Runs a trace, and `happening` after it has begun. */
async function whileTracing(words: readonly string[], happening: () => Promise<void> | void): Promise<Outcome> {
  const begun = Promise.withResolvers<void>();
  const outcome = trace(words, undefined, (line) => line.includes('tracing right of node node1') && begun.resolve());
  await Promise.race([begun.promise, outcome]);
  await happening();
  return outcome;
}

test('trace prints a line for each message, up to --count', async () => {
  const { code, stdout } = await whileTracing(['--peer', 'right', '--count', '2'], () => {
    announce(1);
    announce(2);
  });
  expect(code).toBe(0);
  expect(stdout.split('\n').map((line) => line.replace(/^\S+ /, ''))).toEqual([
    '[1] connection is there already, opened by peer',
    '[1] -> UPDATE announces 192.0.2.1/32 via 10.0.0.1, AS path 64512, origin IGP',
    '[1] -> UPDATE withdraws 192.0.2.1/32',
    '',
  ]);
});

test('trace prints JSON and writes a capture file at the same time', async () => {
  const file = join(directory, 'right.pcapng');
  const { stdout } = await whileTracing(['--peer', 'right', '--count', '1', '-o', 'json', '--pcap', file], () => announce(1));
  const [, message] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(message).toMatchObject({
    type: 'message',
    direction: 'sent',
    message: { kind: 'UPDATE', announced: [{ prefix: '192.0.2.1/32', nextHops: ['10.0.0.1'] }] },
  });
  const { name, segments } = readCapture(await readFile(file));
  expect(name).toBe('right');
  expect(segments.map(({ payload }) => payload.toString('hex'))).toEqual([(message as { octets: string }).octets]);
});

test('--pcap - writes only the capture to standard output', async () => {
  const octets: Uint8Array[] = [];
  const begun = Promise.withResolvers<void>();
  const outcome = inProcess(bgpCommand, ['trace', '--socket', socket, '--peer', 'right', '--count', '1', '--pcap', '-'], {
    write: async (some) => void octets.push(some),
    printError: () => begun.resolve(),
  });
  await begun.promise;
  announce(1);
  expect(await outcome).toMatchObject({ code: 0, stdout: '' });
  expect(readCapture(Buffer.concat(octets)).segments).toHaveLength(1);
});

test('trace ends on Ctrl-C and after --duration', async () => {
  const stop = new AbortController();
  const notes: string[] = [];
  const outcome = trace(['--peer', 'right'], stop.signal, (line) => {
    notes.push(line);
    stop.abort('SIGINT');
  });
  expect(await outcome).toMatchObject({ code: 0 });
  expect(notes.at(-1)).toBe('herald: 0 messages');
  expect(await trace(['--peer', 'right', '--duration', '1s'])).toMatchObject({ code: 0 });
});

test('trace ends when the peer is removed', async () => {
  const { code, stdout } = await whileTracing(['--peer', 'right'], async () => {
    const removed = speakers.left.peer.remove('gone');
    speakers.clock.advance(3000);
    await removed;
  });
  expect(code).toBe(0);
  expect(stdout).toContain('-> NOTIFICATION Cease: Administrative Shutdown (6/2): "gone"');
});

test('trace reports an unknown peer, a wrong node, a missing agent and invalid options', async () => {
  expect(await trace(['--peer', 'tor9'])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('BGPPeer tor9 (it has sessions with right)'),
  });
  expect((await trace(['--peer', 'right', '--node', 'node2'])).stderr).toContain('runs on node node1: run this on node2');
  await listener.close();
  expect(await trace(['--peer', 'right'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('or it uses another socket (--socket)'),
  });
  for (const words of [['--count', '0'], ['--duration', '25h'], ['--socket', 'relative'], []])
    expect((await trace(words.length === 0 ? [] : ['--peer', 'right', ...words])).code).toBe(64);
});

test('a slow reader loses messages and is told how many, while the session continues', async () => {
  const traces = vi.spyOn(speakers.left.peer, 'trace');
  const gone = new AbortController();
  const { chunks } = await requestLocal(socket, `${debugPaths.bgpTrace}?peer=right`, gone.signal);
  const reader = chunks[Symbol.asyncIterator]();
  await reader.next(); // The existing connection. From here on the reader does not read.
  // Far more than the queue and the socket buffers hold.
  const messages = 2 * maximumTracedMessages + 4000;
  const before = speakers.left.peer.status().counters.sent.update;
  for (let i = 0; i < messages; i++) {
    speakers.left.peer.routes.set([{ prefix: '192.0.2.1/32', med: i }]);
    speakers.clock.advance(1);
    // Gives the agent time to hand the messages over.
    if (i % 64 === 0) await setImmediate();
  }
  expect(speakers.left.state).toBe('Established');
  expect(speakers.left.peer.status().counters.sent.update).toBe(before + messages);
  let text = '';
  let lost = 0;
  while (lost === 0) {
    const { value, done } = await reader.next();
    expect(done).not.toBe(true);
    const lines = (text + Buffer.from(value as Uint8Array).toString('utf8')).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const event = decodeTraceLine(line);
      if (event?.type === 'lost') lost += event.count;
    }
  }
  gone.abort();
  await reader.return?.().catch(() => undefined);
  await until('the trace has ended', () => traces.mock.results.every(({ value }) => (value as TraceStream).done));
  expect(traces).toHaveBeenCalledTimes(1);
});
