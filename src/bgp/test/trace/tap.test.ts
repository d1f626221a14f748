import { expect, test } from 'vitest';
import { maximumTracedMessages, maximumTracedOctets } from '../../../../src/bgp/limits.ts';
import type { Streamed, TraceEvent, TraceStream } from '../../../../src/bgp/index.ts';
import { messageFacts } from '../../../../src/bgp/trace/message-facts.ts';
import { messageText } from '../../../../src/bgp/trace/message-text.ts';
import { Tap } from '../../../../src/bgp/trace/tap.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { hex } from '../hex.ts';
import { pair } from '../two-speakers.ts';

/** Ends the stream and returns a line for each event until now. */
async function passed(stream: TraceStream): Promise<string[]> {
  const lines: string[] = [];
  stream.finish();
  for await (const event of stream) lines.push(lineOf(event));
  return lines;
}

function lineOf(event: Streamed<TraceEvent>): string {
  switch (event.type) {
    case 'message':
      return `${event.connection.number} ${event.direction} ${messageText(messageFacts(event.octets, event.session))}`;
    case 'lost':
      return `lost ${event.count}`;
    case 'closed':
      return `${event.connection.number} closed by ${event.by}${event.problem === undefined ? '' : ` (${event.problem})`}`;
    case 'unreadable':
      return `${event.connection.number} unreadable: ${event.problem}, ${event.octets.length} octets`;
    case 'opened':
    case 'present':
      return `${event.connection.number} ${event.type}, opened by ${event.connection.openedBy}`;
  }
}

const kinds = (lines: readonly string[]): string[] => lines.map((line) => line.split(' ').slice(0, 3).join(' '));

test('a trace has every message of a session, both directions, in order and decoded', async () => {
  const { clock, left, right } = pair();
  right.start();
  left.start({ passive: true });
  const trace = left.peer.trace();
  clock.advance(1000);
  left.peer.routes.set([{ prefix: '192.0.2.1/32', communities: ['64512:7', 'no-export'] }]);
  clock.advance(100);
  left.peer.routes.set([]);
  clock.advance(100);
  const removed = right.peer.remove('maintenance at nine');
  clock.advance(2000);
  await removed;
  const lines = await passed(trace);
  expect(kinds(lines)).toEqual([
    '1 opened, opened',
    '1 sent OPEN',
    '1 received OPEN',
    '1 sent KEEPALIVE',
    '1 received KEEPALIVE',
    '1 received UPDATE',
    '1 sent UPDATE',
    '1 sent UPDATE',
    '1 sent UPDATE',
    '1 received NOTIFICATION',
    '1 closed by',
  ]);
  expect(lines[2]).toContain('AS 65001, router ID 10.0.0.2, hold time 9 s: ');
  expect(lines).toContain('1 sent UPDATE announces 192.0.2.1/32 via 10.0.0.1, AS path 64512, origin IGP, communities 64512:7 no-export');
  expect(lines).toContain('1 sent UPDATE withdraws 192.0.2.1/32');
  expect(lines).toContain('1 received NOTIFICATION Cease: Administrative Shutdown (6/2): "maintenance at nine"');
});

test('BGP-128 a trace decodes sent and received path identifiers', async () => {
  const { clock, left, right } = pair();
  right.start({ addPathReceive: [4] });
  left.start({ passive: true, addPathSend: [4] });
  const traces = [left.peer.trace(), right.peer.trace()];
  clock.advance(1000);
  left.peer.routes.set([{ prefix: '192.0.2.1/32' }]);
  right.peer.routes.set([{ prefix: '198.51.100.1/32' }]);
  clock.advance(100);
  left.peer.routes.set([]);
  clock.advance(100);
  const [sender = [], receiver = []] = await Promise.all(traces.map(passed));
  const announced = 'UPDATE announces 192.0.2.1/32 path 1 via 10.0.0.1, AS path 64512, origin IGP';
  expect(sender).toEqual(expect.arrayContaining([`1 sent ${announced}`, '1 sent UPDATE withdraws 192.0.2.1/32 path 1']));
  expect(receiver).toEqual(expect.arrayContaining([`1 received ${announced}`, '1 received UPDATE withdraws 192.0.2.1/32 path 1']));
  expect(sender).toContain('1 received UPDATE announces 198.51.100.1/32 via 10.0.0.2, AS path 65001, origin IGP');
});

test('a trace that starts late begins with the open connections', async () => {
  const { clock, left, right } = pair();
  right.start();
  left.start({ passive: true });
  clock.advance(1000);
  const trace = left.peer.trace();
  left.peer.routes.set([{ prefix: '192.0.2.1/32' }]);
  clock.advance(100);
  expect(await passed(trace)).toEqual(['1 present, opened by peer', expect.stringContaining('1 sent UPDATE announces 192.0.2.1/32')]);
});

test('a failed dial is traced with its problem', async () => {
  const { clock, left } = pair();
  left.start();
  const trace = left.peer.trace();
  clock.advance(100);
  expect(await passed(trace)).toEqual([expect.stringMatching(/^1 closed by peer \(.+\)$/)]);
});

test('unreadable octets are traced as they arrived', async () => {
  const tap = new Tap(new VirtualClock());
  const connection = tap.connection('accepted');
  const trace = tap.trace();
  const octets = hex('00112233445566778899aabbccddeeff001304');
  connection.unreadable({
    kind: 'fault',
    fault: { disposition: 'reset', code: 1, subcode: 1, data: octets, problem: 'no marker' },
    octets,
  });
  expect(await passed(trace)).toEqual(['1 unreadable: no marker, 19 octets']);
});

test('a trace without a reader drops its oldest messages above a count or size, and reports how many', async () => {
  const tap = new Tap(new VirtualClock());
  const connection = tap.connection('dialed');
  const keepalive = hex(`${'ff'.repeat(16)}001304`);
  const byNumber = tap.trace();
  for (let i = 0; i < maximumTracedMessages + 5; i++) connection.sent(keepalive, undefined);
  const numbered = await passed(byNumber);
  expect([numbered[0], numbered.length]).toEqual(['lost 5', maximumTracedMessages + 1]);

  const bySize = tap.trace();
  const large = new Uint8Array(65_535);
  const fitting = Math.floor(maximumTracedOctets / large.length);
  for (let i = 0; i < fitting + 3; i++) connection.sent(large, undefined);
  expect(await bySize.next()).toMatchObject({ value: { type: 'lost', count: 3 } });
});

test('an aborted signal ends a trace, and the tap records nothing more', async () => {
  const tap = new Tap(new VirtualClock());
  const stop = new AbortController();
  const trace = tap.trace({ signal: stop.signal });
  expect(tap.isWatched).toBe(true);
  stop.abort();
  expect(tap.isWatched).toBe(false);
  await expect(trace.next()).rejects.toMatchObject({ name: 'AbortError' });
});

test('the trace of a removed peer ends after its last events', async () => {
  const { clock, left, right } = pair();
  right.start();
  left.start({ passive: true });
  clock.advance(1000);
  const trace = left.peer.trace();
  const removed = left.peer.remove();
  clock.advance(2000);
  await removed;
  const lines: string[] = [];
  for await (const event of trace) lines.push(lineOf(event));
  expect(kinds(lines)).toEqual(['1 present, opened', '1 sent NOTIFICATION', '1 closed by']);
});

test('a traced message is a copy, independent of the receive buffer', async () => {
  const tap = new Tap(new VirtualClock());
  const trace = tap.trace();
  const body = new Uint8Array(60_000).subarray(10, 14);
  tap.connection('dialed').received({ kind: 'frame', type: 2, body }, undefined);
  body.fill(9);
  const { value } = await trace.next();
  expect(value).toMatchObject({ octets: hex(`${'ff'.repeat(16)}001702 00000000`) });
  expect((value as { octets: Uint8Array }).octets.buffer.byteLength).toBe(23);
});
