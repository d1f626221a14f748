import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { writeUrgency, type ReportContent } from '../../../../src/agent/report/write-urgency.ts';
import { reason } from '../../../../src/model/reasons.ts';
import type { SessionStatus } from '../../../../src/model/objects/node-state.ts';

const text = fc.string({ maxLength: 4 });
const count = fc.nat(3);
const cause = fc
  .record({ latest: text, since: fc.constantFrom('a', 'b') })
  .map(({ latest, since }) =>
    reason('HoldTimeExpired', { peer: 'tor1', router: '10.0.0.254', local: '10.0.0.1', since, latest, kind: 'us', seconds: 9 }),
  );

const session: fc.Arbitrary<SessionStatus> = fc.record(
  {
    peer: fc.constantFrom('tor1', 'tor2'),
    address: fc.constant('10.0.0.254'),
    state: fc.constantFrom('Idle', 'Connect', 'Active', 'Established'),
    since: fc.constantFrom('a', 'b'),
    localASN: fc.constant(1),
    peerASN: count,
    prefixesSent: count,
    families: fc.array(fc.record({ family: fc.constantFrom('IPv4', 'IPv6'), sent: count, received: count }), { maxLength: 2 }),
    lastError: text,
    cause,
  },
  { requiredKeys: ['peer', 'address', 'state', 'since', 'localASN', 'peerASN', 'prefixesSent'] },
);

const content: fc.Arbitrary<ReportContent> = fc.record(
  {
    consumed: fc.dictionary(fc.constantFrom('Service', 'Node'), count.map(String)),
    sessions: fc.array(session, { maxLength: 2 }),
    differing: fc.constant([]),
    truncated: fc.constant(true as const),
    problem: fc.constant(reason('NodeUnknown', { node: 'n1' })),
  },
  { requiredKeys: ['consumed', 'sessions', 'differing'] },
);

describe('the urgency of a write', () => {
  test('equal content is never written, whatever objects it is made of', () => {
    fc.assert(
      fc.property(content, (one) => {
        expect(writeUrgency(one, structuredClone(one))).toBe('none');
      }),
    );
  });

  test('different content is always written sooner or later, in both directions alike', () => {
    fc.assert(
      fc.property(content, content, (one, other) => {
        const isSame = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
        expect(writeUrgency(one, other) === 'none').toBe(isSame);
        expect(writeUrgency(other, one)).toBe(writeUrgency(one, other));
      }),
    );
  });

  test('a session that comes up or goes down, a problem and a reason are written at once', () => {
    fc.assert(
      fc.property(content, session, (one, more) => {
        const up: ReportContent = { ...one, sessions: [{ ...more, state: 'Established' }] };
        expect(writeUrgency(up, { ...up, sessions: [{ ...more, state: 'Idle' }] })).toBe('now');
        expect(writeUrgency(up, { ...up, problem: reason('AgentStopped', { node: 'n1' }) })).toBe('now');
        expect(writeUrgency(up, { ...up, sessions: [] })).toBe('now');
      }),
    );
  });

  test('versions of Services are never urgent, as no decision depends on them', () => {
    fc.assert(
      fc.property(content, (one) => {
        expect(writeUrgency(one, { ...one, consumed: { ...one.consumed, Service: '9' } })).toBe('details');
      }),
    );
  });

  test('counts of a session, and the symptoms of one that is down, are never urgent', () => {
    fc.assert(
      fc.property(content, session, count, text, (one, some, sent, lastError) => {
        const isSaid: ReportContent = { ...one, sessions: [{ ...some, state: 'Active' }] };
        const next = { ...some, state: 'Connect', since: 'c', prefixesSent: sent, lastError } as const;
        expect(writeUrgency(isSaid, { ...isSaid, sessions: [next] })).toBe('details');
        expect(writeUrgency(isSaid, { ...isSaid, sessions: [next], consumed: { ...one.consumed, Node: '9' } })).toBe('acknowledgement');
      }),
    );
  });
});

/** The same object with its keys in one order. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}
