import { describe, expect, test } from 'vitest';
import {
  initialLeaseState,
  leadsUntil,
  step,
  type LeaseEffect,
  type LeaseEvent,
  type LeaseState,
} from '../../../../src/kube/election/lease.ts';
import { leaseManifest, microTime, readLease, type Lease } from '../../../../src/kube/election/lease-object.ts';
import { limits } from '../../../../src/kube/limits.ts';
import { seededRandom } from '../../../../src/system/random.ts';

const timing = { leaseMilliseconds: 15_000, renewDeadlineMilliseconds: 10_000, retryMilliseconds: 2000, retryJitter: 1.2 };

function lease(holder: string, version = '1', durationSeconds = 15): Lease {
  const raw = { metadata: { name: 'herald-controller', namespace: 'herald-system', resourceVersion: version } };
  return { holder, durationSeconds, transitions: 4, acquireTime: '2026-01-01T00:00:00.000000Z', version, raw };
}

const mine = lease('me', '7');
const states: Readonly<Record<string, LeaseState>> = {
  standby: { phase: 'standby', observed: { lease: lease('other'), since: 90_000 } },
  'standby, reads': { phase: 'standby', observed: { lease: lease('other'), since: 90_000 }, asked: { what: 'read', at: 99_900 } },
  'standby, writes': { phase: 'standby', observed: { lease: lease('other'), since: 80_000 }, asked: { what: 'write', at: 99_900 } },
  leading: { phase: 'leading', lease: mine, renewedAt: 98_000 },
  'leading, writes': { phase: 'leading', lease: mine, renewedAt: 98_000, asked: { what: 'write', at: 99_900 } },
  'leading, reads': { phase: 'leading', lease: mine, renewedAt: 98_000, asked: { what: 'read', at: 99_900 } },
  'leading, too late': { phase: 'leading', lease: mine, renewedAt: 90_000, asked: { what: 'write', at: 90_000 } },
  'stopping, to be answered': { phase: 'stopping', lease: mine, releasing: false },
  'stopping, to be answered whether it leads': { phase: 'stopping', releasing: false },
  'stopping, gives it back': { phase: 'stopping', lease: mine, releasing: true },
  ended: { phase: 'ended' },
};

const events: Readonly<Record<string, LeaseEvent>> = {
  due: { type: 'due' },
  changed: { type: 'changed' },
  'read: none': { type: 'read', lease: undefined },
  'read: mine': { type: 'read', lease: lease('me', '8') },
  'read: another one': { type: 'read', lease: lease('other', '9') },
  'read: the same one': { type: 'read', lease: lease('other') },
  'read: given back': { type: 'read', lease: lease('', '9', 1) },
  written: { type: 'written', lease: lease('me', '8') },
  raced: { type: 'failed', raced: true },
  failed: { type: 'failed', raced: false },
  stop: { type: 'stop' },
};

function effectText(effect: LeaseEffect): string {
  switch (effect.do) {
    case 'write': {
      const { holder, transitions } = effect.term;
      return `${effect.over === undefined ? 'create' : `write over ${effect.over.version}`} ${holder === '' ? 'nobody' : holder} ${transitions}`;
    }
    case 'wait':
      return `wait ${effect.milliseconds}`;
    case 'end':
      return effect.because;
    case 'read':
    case 'lead':
      return effect.do;
  }
}

function outcome(state: LeaseState, event: LeaseEvent, now = 100_000): string {
  const next = step(state, event, { identity: 'me', timing, now, random: 0.5 });
  const asked = 'asked' in next.state && next.state.asked !== undefined ? ` ${next.state.asked.what}` : '';
  const again = 'again' in next.state && next.state.again ? ' again' : '';
  return [`${next.state.phase}${asked}${again}`, ...next.effects.map(effectText)].join(', ');
}

const matrix: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  standby: {
    due: 'standby read, read',
    changed: 'standby read, read',
    'read: none': 'standby write, create me 0',
    'read: mine': 'standby write, write over 8 me 4',
    'read: another one': 'standby, wait 3200',
    'read: the same one': 'standby, wait 3200',
    'read: given back': 'standby write, write over 9 me 5',
    written: 'standby read, read',
    raced: 'standby, wait 3200',
    failed: 'standby, wait 3200',
    stop: 'ended, stopped',
  },
  'standby, reads': {
    due: 'standby read',
    changed: 'standby read again',
    'read: none': 'standby write, create me 0',
    'read: mine': 'standby write, write over 8 me 4',
    'read: another one': 'standby, wait 3200',
    'read: the same one': 'standby, wait 3200',
    'read: given back': 'standby write, write over 9 me 5',
    written: 'standby read, read',
    raced: 'standby, wait 3200',
    failed: 'standby, wait 3200',
    stop: 'ended, stopped',
  },
  'standby, writes': {
    due: 'standby write',
    changed: 'standby write again',
    'read: none': 'standby write, create me 0',
    'read: mine': 'standby write, write over 8 me 4',
    'read: another one': 'standby, wait 3200',
    'read: the same one': 'standby write, write over 1 me 5',
    'read: given back': 'standby write, write over 9 me 5',
    written: 'leading, lead, wait 2000',
    raced: 'standby read, read',
    failed: 'standby, wait 3200',
    stop: 'stopping',
  },
  leading: {
    due: 'leading write, write over 7 me 4',
    changed: 'leading',
    'read: none': 'ended, lost',
    'read: mine': 'leading write, write over 8 me 4',
    'read: another one': 'ended, lost',
    'read: the same one': 'ended, lost',
    'read: given back': 'ended, lost',
    written: 'ended, lost',
    raced: 'leading read, read',
    failed: 'leading, wait 2000',
    stop: 'stopping, write over 7 nobody 4',
  },
  'leading, writes': {
    due: 'leading write',
    changed: 'leading write',
    'read: none': 'ended, lost',
    'read: mine': 'leading write, write over 8 me 4',
    'read: another one': 'ended, lost',
    'read: the same one': 'ended, lost',
    'read: given back': 'ended, lost',
    written: 'leading, wait 2000',
    raced: 'leading read, read',
    failed: 'leading, wait 2000',
    stop: 'stopping',
  },
  'leading, reads': {
    due: 'leading read',
    changed: 'leading read',
    'read: none': 'ended, lost',
    'read: mine': 'leading write, write over 8 me 4',
    'read: another one': 'ended, lost',
    'read: the same one': 'ended, lost',
    'read: given back': 'ended, lost',
    written: 'ended, lost',
    raced: 'leading read, read',
    failed: 'leading, wait 2000',
    stop: 'stopping',
  },
  'leading, too late': {
    due: 'leading write',
    changed: 'leading write',
    'read: none': 'ended, lost',
    'read: mine': 'ended, lost',
    'read: another one': 'ended, lost',
    'read: the same one': 'ended, lost',
    'read: given back': 'ended, lost',
    written: 'ended, lost',
    raced: 'ended, lost',
    failed: 'ended, lost',
    stop: 'stopping',
  },
  'stopping, to be answered': {
    due: 'stopping',
    changed: 'stopping',
    'read: none': 'ended, stopped',
    'read: mine': 'stopping, write over 8 nobody 4',
    'read: another one': 'ended, stopped',
    'read: the same one': 'ended, stopped',
    'read: given back': 'ended, stopped',
    written: 'stopping, write over 8 nobody 4',
    raced: 'stopping, write over 7 nobody 4',
    failed: 'stopping, write over 7 nobody 4',
    stop: 'stopping',
  },
  'stopping, to be answered whether it leads': {
    due: 'stopping',
    changed: 'stopping',
    'read: none': 'ended, stopped',
    'read: mine': 'stopping, write over 8 nobody 4',
    'read: another one': 'ended, stopped',
    'read: the same one': 'ended, stopped',
    'read: given back': 'ended, stopped',
    written: 'stopping, write over 8 nobody 4',
    raced: 'ended, stopped',
    failed: 'ended, stopped',
    stop: 'stopping',
  },
  'stopping, gives it back': {
    due: 'stopping',
    changed: 'stopping',
    'read: none': 'ended, stopped',
    'read: mine': 'stopping, write over 8 nobody 4',
    'read: another one': 'ended, stopped',
    'read: the same one': 'ended, stopped',
    'read: given back': 'ended, stopped',
    written: 'ended, stopped',
    raced: 'ended, stopped',
    failed: 'ended, stopped',
    stop: 'stopping',
  },
  ended: {
    due: 'ended',
    changed: 'ended',
    'read: none': 'ended',
    'read: mine': 'ended',
    'read: another one': 'ended',
    'read: the same one': 'ended',
    'read: given back': 'ended',
    written: 'ended',
    raced: 'ended',
    failed: 'ended',
    stop: 'ended',
  },
};

describe('the election, each event in each state', () => {
  test.each(Object.keys(states))('%s', (name) => {
    const state = states[name] as LeaseState;
    const row = Object.fromEntries(Object.entries(events).map(([event, value]) => [event, outcome(state, value)]));
    expect(row).toEqual(matrix[name]);
  });
});

const context = (now: number, random = 0.5): Parameters<typeof step>[2] => ({ identity: 'me', timing, now, random });

test('a Lease expires when no change was seen for its duration, whatever times it contains', () => {
  const strange = { ...lease('other'), acquireTime: '1970-01-01T00:00:00.000000Z' };
  const first = step({ phase: 'standby', asked: { what: 'read', at: 0 } }, { type: 'read', lease: strange }, context(1000));
  expect(first.effects).toEqual([{ do: 'wait', milliseconds: 3200 }]);
  const later = (now: number, seen: Lease): string =>
    outcome({ ...first.state, asked: { what: 'read', at: now } } as LeaseState, { type: 'read', lease: seen }, now);
  expect(later(15_999, strange)).toMatch(/^standby, wait/);
  expect(later(16_000, strange)).toBe('standby write, write over 1 me 5');
  expect(later(16_000, lease('other', '2'))).toMatch(/^standby, wait/);
});

test('waiting processes read again soon after a possible expiry, and not all at once', () => {
  const state: LeaseState = { phase: 'standby', observed: { lease: lease('other'), since: 86_000 }, asked: { what: 'read', at: 99_900 } };
  const waits = [0, 0.999].map((random) => step(state, { type: 'read', lease: lease('other') }, context(100_000, random)).effects);
  expect(waits).toEqual([[{ do: 'wait', milliseconds: 1000 }], [{ do: 'wait', milliseconds: expect.closeTo(1499.5) }]]);
});

test('a Lease without a duration counts with ours', () => {
  const state: LeaseState = { phase: 'standby', observed: { lease: lease('other', '1', 0), since: 90_000 } };
  expect(outcome(state, { type: 'read', lease: lease('other', '1', 0) }, 104_999)).toMatch(/^standby, wait/);
  expect(outcome(state, { type: 'read', lease: lease('other', '1', 0) }, 105_000)).toMatch(/^standby write/);
});

test("a leader's term counts from its request, not from the response", () => {
  const asked = step(states['standby, writes'] as LeaseState, { type: 'written', lease: mine }, context(104_000));
  expect(leadsUntil(asked.state, timing)).toBe(109_900);
  const renewed = step(states['leading, writes'] as LeaseState, { type: 'written', lease: mine }, context(104_000));
  expect(leadsUntil(renewed.state, timing)).toBe(109_900);
  expect(leadsUntil(initialLeaseState, timing)).toBeUndefined();
});

test('a response that arrives after others may lead makes no leader', () => {
  expect(outcome(states['standby, writes'] as LeaseState, { type: 'written', lease: mine }, 109_900)).toBe('standby read, read');
  expect(outcome(states['leading, writes'] as LeaseState, { type: 'written', lease: mine }, 109_900)).toBe('ended, lost');
});

test('a leader that cannot renew retries until its deadline and then stops leading', () => {
  const state = states['leading, writes'] as LeaseState;
  expect(outcome(state, { type: 'failed', raced: false }, 107_000)).toBe('leading, wait 1000');
  expect(outcome(state, { type: 'failed', raced: false }, 108_000)).toBe('ended, lost');
  expect(outcome(states['leading'] as LeaseState, { type: 'due' }, 108_000)).toBe('ended, lost');
});

const shipped = {
  leaseMilliseconds: limits.leaseMilliseconds,
  renewDeadlineMilliseconds: limits.renewDeadlineMilliseconds,
  retryMilliseconds: limits.leaseRetryMilliseconds,
  retryJitter: limits.leaseRetryJitter,
};

test('the shipped timing writes as often as client-go, and a leader ends before another may lead', () => {
  expect(shipped.retryMilliseconds).toBe(2000);
  expect(shipped.renewDeadlineMilliseconds + limits.leaseRetryMilliseconds).toBeLessThanOrEqual(shipped.leaseMilliseconds);
  // A leader whose renewal is not answered has time for a second attempt.
  expect(shipped.retryMilliseconds + limits.leaseAnswerMilliseconds).toBeLessThan(shipped.renewDeadlineMilliseconds);
  expect(shipped.leaseMilliseconds % 1000).toBe(0);
});

/** Requests are slow, fail, or succeed with a lost response; a process is slow or stops. */
test.each([
  ["client-go's timing", timing],
  ['the shipped timing', shipped],
])('two processes that share a Lease never lead at the same time with %s', (_, timing) => {
  const random = seededRandom(7);
  const chance = (part: number): boolean => random() < part;
  let [changes, overlaps] = [0, 0];
  for (let run = 0; run < 200; run++) {
    let [now, version] = [0, 0];
    let stored: Lease | undefined;
    let leader: string | undefined;
    const players = ['a', 'b'].map((identity) => ({ identity, state: initialLeaseState, pending: [] as LeaseEffect[] }));
    for (let phase = 0; phase < 20; phase++) {
      const [busy, failing, lost, pace] = [random(), random() ** 3, random() ** 3, 100 + 2000 * random()];
      for (let action = 0; action < 40; action++) {
        now += pace * random();
        const player = players[chance(busy) ? 0 : 1] as (typeof players)[number];
        const post = (event: LeaseEvent): void => {
          const next = step(player.state, event, { ...context(now), timing, identity: player.identity });
          player.state = next.state;
          player.pending.push(...next.effects.filter((effect) => effect.do === 'read' || effect.do === 'write'));
        };
        const effect = player.pending.shift();
        if (player.state.phase === 'ended') player.state = initialLeaseState;
        else if (effect === undefined) post({ type: 'due' });
        else if (chance(failing)) post({ type: 'failed', raced: false });
        else if (effect.do === 'read') post({ type: 'read', lease: stored });
        else if (effect.do === 'write') {
          const raced = effect.over?.version !== stored?.version;
          if (!raced)
            stored = { ...lease(effect.term.holder, String(++version), effect.term.durationSeconds), transitions: effect.term.transitions };
          post(raced || chance(lost) || stored === undefined ? { type: 'failed', raced } : { type: 'written', lease: stored });
        }
        const leaders = players.filter(({ state }) => (leadsUntil(state, timing) ?? 0) > now);
        if (leaders.length > 1) overlaps++;
        const [first] = leaders;
        if (first !== undefined && first.identity !== leader) changes++;
        leader = first?.identity ?? leader;
      }
    }
  }
  expect(overlaps).toBe(0);
  expect(changes).toBeGreaterThan(200);
});

test("times have six fractional digits, and other programs' fields of a Lease stay", () => {
  const now = new Date(Date.UTC(2026, 10, 21, 20, 0, 0, 7));
  expect(microTime(now)).toBe('2026-11-21T20:00:00.007000Z');
  const found = readLease({
    metadata: { name: 'herald-controller', namespace: 'herald-system', resourceVersion: '5', labels: { a: 'b' } },
    spec: { holderIdentity: 'other', leaseDurationSeconds: 15, leaseTransitions: 2, strategy: 'OldestEmulationVersion' },
  });
  const term = { holder: 'me', durationSeconds: 15, transitions: 3, acquireTime: undefined };
  expect(leaseManifest({ namespace: 'herald-system', name: 'herald-controller' }, term, found, now)).toEqual({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'herald-controller', namespace: 'herald-system', resourceVersion: '5', labels: { a: 'b' } },
    spec: {
      holderIdentity: 'me',
      leaseDurationSeconds: 15,
      leaseTransitions: 3,
      acquireTime: '2026-11-21T20:00:00.007000Z',
      renewTime: '2026-11-21T20:00:00.007000Z',
      strategy: 'OldestEmulationVersion',
    },
  });
});
