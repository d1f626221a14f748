import { expect, test } from 'vitest';
import type { Streamed, TracedConnection, TraceEvent } from '../../../../src/bgp/index.ts';
import { decodeTraceLine, encodeTraceLine } from '../../../../src/bgp/trace/trace-lines.ts';
import { hex } from '../hex.ts';
import { at, endsOf } from './capture-file.ts';

const connection: TracedConnection = { number: 3, openedBy: 'us', ends: endsOf('2001:db8::1', '2001:db8::2') };
const octets = hex('00ff80');
const every: readonly Streamed<TraceEvent>[] = [
  { at, connection, type: 'opened' },
  { at, connection: { number: 4, openedBy: 'peer' }, type: 'present' },
  { at, connection, type: 'message', direction: 'sent', octets, session: { families: [4], fourOctetAsn: true, maximum: 65_535 } },
  { at, connection, type: 'unreadable', octets, problem: 'no marker' },
  { at, connection, type: 'closed', by: 'us' },
  { at, connection, type: 'closed', by: 'peer', problem: 'reset by the peer' },
  { type: 'lost', count: 9 },
];

test.each(every)('a trace event survives encoding to a line and decoding: $type', (event) => {
  const line = encodeTraceLine(event);
  expect(line).not.toContain('\n');
  expect(decodeTraceLine(line)).toEqual(event);
});

test('unknown event types decode to undefined, and unknown fields are ignored', () => {
  expect(decodeTraceLine('{"type":"paused"}')).toBeUndefined();
  const line = encodeTraceLine({ at, connection, type: 'opened' }).replace('{', '{"new":1,');
  expect(decodeTraceLine(line)).toMatchObject({ type: 'opened', connection });
});
