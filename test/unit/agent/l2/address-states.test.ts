import { describe, expect, test } from 'vitest';
import { AddressStates } from '../../../../src/agent/l2/address-states.ts';
import type { L2Event } from '../../../../src/l2/index.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { reason, type Reason } from '../../../../src/model/reasons.ts';
import { cluster, metadata } from '../../decisions/fixtures.ts';

const now = Date.UTC(2026, 0, 1);
const at = new Date(now);
const settings = { onConflict: 'defend', failback: 'immediate', failbackSeconds: 0, refreshInterval: 60, promiscuous: false } as const;
const eth0 = { name: 'eth0', linkAddress: '02:00:00:00:00:01', networks: [], addresses: [] };

type Changed = Extract<L2Event, { kind: 'changed' }>;

const changed = (to: Changed['to'], more: Partial<Changed> = {}): Changed => ({
  kind: 'changed',
  at,
  address: '192.0.2.100',
  interface: 'eth0',
  from: 'standby',
  to,
  cause: 'elected',
  ...more,
});

function report(name: string): NodeState {
  return { kind: 'NodeState', metadata: metadata(name), updated: at.toISOString(), consumed: {}, sessions: [], differing: [] };
}

/** What node n2 reports of an address for which n1 is the best candidate and n2 the next. */
function reported(events: readonly L2Event[], running: readonly string[] = ['n1']): Reason | undefined {
  const states = new AddressStates('n2');
  for (const event of events) states.take(event);
  const candidates = ['n1', 'n2'].map((node) => ({ node, weight: 0, links: [eth0] }));
  const snapshot = { ...cluster({}), nodeStates: new Map(running.map((name) => [name, report(name)])) };
  return states.differences([['shop/web', { address: '192.0.2.100', candidates, settings, everHeld: true }]], snapshot, now)[0]?.reason;
}

test('a node that stands ready while the best one runs has nothing to report', () => {
  expect(reported([changed('standby')])).toBeUndefined();
});

test('a node that answers although a better one runs says why', () => {
  expect(reported([changed('owner')])).toMatchObject({
    code: 'L2AnswersInstead',
    details: { node: 'n2', best: 'n1', because: 'no better placed node answers' },
  });
  expect(reported([changed('keeping')])?.details).toMatchObject({ because: 'it goes on until the other one has announced the address' });
});

test('a node that answers because no better one runs has nothing to report', () => {
  expect(reported([changed('owner')], [])).toBeUndefined();
});

test('the best node names the other one that answers', () => {
  expect(reported([changed('standby', { node: 'n3' })], [])).toEqual({ code: 'L2NotOwner', details: { node: 'n2', owner: 'n3' } });
});

test('a foreign host is reported until the address is given up', () => {
  const conflict: L2Event = { kind: 'conflict', at, address: '192.0.2.100', interface: 'eth0', mac: '02:00:00:00:00:99' };
  expect(reported([changed('owner'), conflict])).toMatchObject({
    code: 'L2AddressContested',
    details: { linkAddress: '02:00:00:00:00:99', interface: 'eth0', node: 'n2' },
  });
  expect(reported([changed('owner'), conflict, changed('standby')])).toBeUndefined();
});

test('a conflict lasts while the node looks for the host again, and ends with it', () => {
  const conflict: L2Event = { kind: 'conflict', at, address: '192.0.2.100', interface: 'eth0', mac: '02:00:00:00:00:99' };
  const again = [changed('conflict', { from: 'probing' }), conflict, changed('probing', { from: 'conflict' })];
  expect(reported(again)?.code).toBe('L2AddressConflict');
  expect(reported([...again, changed('owner', { from: 'probing' })], [])).toBeUndefined();
  const ended: L2Event = { kind: 'conflictEnded', at, address: '192.0.2.100', interface: 'eth0' };
  expect(reported([changed('owner'), conflict], [])?.code).toBe('L2AddressContested');
  expect(reported([changed('owner'), conflict, ended], [])).toBeUndefined();
});

describe('the best placed node that answers', () => {
  const split = { node: 'n3', address: '192.0.2.100', best: 'n2', because: 'no better placed node answers' };

  /** What n2, the best placed node, reports at these times while n3 reports `details`. */
  function reportedAt(details: typeof split, times: readonly number[]): (Reason | undefined)[] {
    const states = new AddressStates('n2');
    states.take(changed('owner'));
    const candidates = ['n2', 'n3'].map((node) => ({ node, weight: 0, links: [eth0] }));
    const other = {
      ...report('n3'),
      differing: [{ service: 'shop/web', aspect: 'Announced', reason: reason('L2AnswersInstead', details) }],
    } as const;
    const snapshot = { ...cluster({}), nodeStates: new Map([['n3', other]]) };
    const plan = { address: '192.0.2.100', candidates, settings, everHeld: true };
    return times.map((time) => states.differences([['shop/web', plan]], snapshot, now + time)[0]?.reason);
  }

  test('names the other one that answers once that has lasted', () => {
    expect(reportedAt(split, [0, 4_999, 5_000])).toEqual([
      undefined,
      undefined,
      { code: 'L2TwoOwners', details: { node: 'n2', interface: 'eth0', other: 'n3', address: '192.0.2.100' } },
    ]);
  });

  test.each([
    ['hands the address over', { ...split, because: 'it goes on until the other one has announced the address' }],
    ['answers for another address', { ...split, address: '192.0.2.101' }],
  ])('has nothing to report when the other one %s', (_, details) => {
    expect(reportedAt(details, [0, 60_000])).toEqual([undefined, undefined]);
  });
});
