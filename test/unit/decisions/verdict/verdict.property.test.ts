import fc from 'fast-check';
import { expect, test } from 'vitest';
import { judgeService } from '../../../../src/controller/services/service-conditions.ts';
import { isFabricWhole } from '../../../../src/explain/overview/whole-fabric.ts';
import { explainService } from '../../../../src/explain/service/service.ts';
import type { NodeState, ServiceDifference, SessionStatus } from '../../../../src/model/objects/node-state.ts';
import { reason } from '../../../../src/model/reasons.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { cluster, metadata, type ClusterLiteral } from '../fixtures.ts';
import { withoutPoolRecord } from '../../../../src/model/objects/pool-record.ts';
import { runs } from '../../../support/property.ts';

const now = Date.UTC(2026, 0, 1);
const key = 'shop/web';
const nodes = ['n1', 'n2', 'n3'];
const peers = ['tor1', 'tor1-v6', 'tor2'];
const frontend = '192.0.2.1 TCP 80';
/** Differences as agents report them: the aspect belongs to the reason. */
const differences: readonly Pick<ServiceDifference, 'aspect' | 'reason'>[] = [
  { aspect: 'Programmed', reason: reason('FrontendQuarantined', { frontend, error: 'EINVAL' }) },
  { aspect: 'Announced', reason: reason('NotProgrammed', { frontend }) },
  { aspect: 'Announced', reason: reason('AwaitsForwarding', { frontend }) },
];

const up: Partial<SessionStatus> = { state: 'Established' };
const session = fc.constantFrom<Partial<SessionStatus>>(
  up,
  { state: 'Active', lastError: 'connection refused' },
  { state: 'Idle', lastError: 'hold timer expired' },
);

const report = fc.record({
  sessions: fc.oneof(fc.tuple(session, session, session), fc.tuple(fc.constant(up), fc.constant(up), fc.constant(up))),
  differing: fc.uniqueArray(fc.constantFrom(...differences), { maxLength: 2 }),
  stopped: fc.boolean(),
  answered: fc.subarray([frontend, '192.0.2.1 TCP 81', '2001:db8::1 TCP 80', '2001:db8::1 TCP 81']),
});

function stateOf(
  name: string,
  { sessions, differing, stopped, answered }: typeof report extends fc.Arbitrary<infer T> ? T : never,
): NodeState {
  const of = { address: '', since: '', localASN: 64512, peerASN: 64513, prefixesSent: 1, state: 'Active' as const };
  return {
    kind: 'NodeState',
    metadata: metadata(name),
    updated: new Date(now).toISOString(),
    consumed: {},
    sessions: sessions.map((one, index) => ({ ...of, peer: peers[index] ?? '', ...one })),
    differing: differing.map((one) => ({ service: key, ...one })),
    checks: { mode: 'passive', answered, failing: [] },
    ...(stopped ? { problem: reason('AgentStopped', { node: name }) } : {}),
  };
}

const world = fc
  .record({
    assigned: fc.subarray(['192.0.2.1', '2001:db8::1', '203.0.113.9']),
    ports: fc.constantFrom(['http:80/TCP'], ['http:80/TCP', 'admin:81/TCP']),
    policy: fc.constantFrom('Cluster' as const, 'Local' as const),
    endpoints: fc.subarray(['10.244.1.1@n1', '10.244.2.1@n2', '10.244.3.1@n3']),
    advertised: fc.boolean(),
    drained: fc.oneof(fc.constant<string[]>([]), fc.subarray(nodes)),
    reports: fc.tuple(...nodes.map(() => fc.option(report, { freq: 9 }))),
  })
  .map(({ assigned, ports, policy, endpoints, advertised, drained, reports }): Snapshot => {
    const literal: ClusterLiteral = {
      services: [{ name: key, clusterIPs: ['10.96.0.1', 'fd00:96::1'], ports, assigned, externalTrafficPolicy: policy }],
      slices: [
        { service: key, ports: ['http:8080/TCP'], endpoints },
        { service: key, name: 'web-6', ports: ['http:8080/TCP'], endpoints: ['fd00:1::1@n1'] },
      ],
      pools: [{ name: 'main', addresses: ['192.0.2.0/28', '2001:db8::/120'] }],
      peers: peers.map((name, index) => ({ name, peerAddress: name.endsWith('v6') ? 'fd00::1' : `10.0.0.${index + 1}` })),
      ...(advertised ? { advertisements: [{ name: 'all' }] } : {}),
      nodes: nodes.map((name) => (drained.includes(name) ? { name, drain: 'force' as const } : { name })),
    };
    const states = reports.flatMap((one, index) => (one === null ? [] : [stateOf(nodes[index] ?? '', one)]));
    return { ...cluster(literal), nodeStates: new Map(states.map((one) => [one.metadata.name, one])) };
  });

test('a verdict is served exactly if clients of every target are answered, and conditions agree with it', () => {
  fc.assert(
    fc.property(world, (snapshot) => {
      const service = snapshot.services.get(key);
      const explanation = explainService(snapshot, key, now);
      if (service === undefined || explanation === undefined) throw new RangeError('no such Service');
      const { verdict, clients = [], allocation } = explanation;
      const isServed = clients.length > 0 && clients.every(({ outcome }) => outcome === 'answered');
      expect(verdict.outcome === 'served').toBe(isServed);
      const isWithoutProblem = verdict.outcome === 'served' || verdict.line.startsWith('Announced, not checked');
      if (!isWithoutProblem) expect(verdict.code).toBeDefined();
      const unmet = allocation.reason ?? (service.ingress.length === 0 ? reason('NoAddress', undefined) : undefined);
      const { conditions, verdict: judged } = judgeService(snapshot, service, { reason: unmet, details: [] }, now);
      if (judged !== undefined) expect(judged).toEqual(verdict);
      // The console takes such a Service for sound without a verdict.
      else if (isFabricWhole(snapshot, now)) expect([verdict.code, isWithoutProblem]).toEqual([undefined, true]);
      const negative = conditions.filter(({ status }) => status === 'False');
      const first = negative.find(({ reason: code }) => code === verdict.code);
      if (first !== undefined) expect(withoutPoolRecord(first.message)).toBe(verdict.line);
      if (verdict.outcome === 'notServed' && verdict.code !== 'PortWithoutEndpoint')
        expect(negative.map((one) => one.reason)).toContain(verdict.code);
      // Ages and counters would rewrite the condition by themselves.
      if (!isWithoutProblem) expect(verdict.line).not.toMatch(/\d+ (?:s|min|h)\b/);
    }),
    { numRuns: runs(300) },
  );
});
