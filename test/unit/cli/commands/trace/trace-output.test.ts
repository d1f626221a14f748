import { expect, test } from 'vitest';
import { traceText } from '../../../../../src/cli/commands/trace/trace-output.ts';
import { address } from '../../../../../src/net/address.ts';

const at = new Date('2026-01-02T03:04:05.678Z');
const attempt = { peer: 'tor1', number: 2, openedBy: 'us' } as const;
const ends = { local: { address: address('192.0.2.11'), port: 40112 }, remote: { address: address('192.0.2.1'), port: 179 } };

test('a connection attempt that failed is not printed as a closed connection', () => {
  const problem = 'connect ECONNREFUSED 192.0.2.1:179';
  expect(traceText({ type: 'closed', at, connection: attempt, by: 'peer', problem })).toBe(
    `${at.toISOString()} [2] no connection: ${problem}`,
  );
  expect(traceText({ type: 'closed', at, connection: attempt, by: 'us' })).toBe(`${at.toISOString()} [2] no connection: given up by us`);
  const there = { ...attempt, ends };
  expect(traceText({ type: 'closed', at, connection: there, by: 'peer' })).toBe(`${at.toISOString()} [2] connection closed by peer`);
});
