import { expect, test } from 'vitest';
import type { WatchConnections } from '../../../../src/dataplane/conntrack/connection-watch.ts';
import { ConnectionChecks } from '../../../../src/agent/checks/connection-checks.ts';
import type { ReadWays } from '../../../../src/agent/checks/endpoint-ways.ts';
import { planService, type ServicePlan } from '../../../../src/agent/reconcile/service-plan.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { CheckMode } from '../../../../src/model/objects/node-state.ts';
import type { RouteAnswer } from '../../../../src/net/endpoint-way.ts';
import type { ProbeOutcome, ProbeTcp } from '../../../../src/system/http/tcp-probe.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { config, node, service, slice } from '../../decisions/fixtures.ts';
import { TestSource } from '../../test-source.ts';
import { FakeDataplane } from '../fakes/fake-dataplane.ts';

/** The checks of node n1 for a Service with one endpoint, whose way and answers to probes the test chooses. */
async function bed(mode: CheckMode) {
  const clock = new VirtualClock();
  const source = new TestSource(
    node({ name: 'n1' }),
    service({ name: 'web', clusterIPs: ['10.96.0.1'], assigned: ['192.0.2.1'] }),
    slice({ service: 'web', ports: ['8080'], endpoints: ['10.1.0.1@n1'] }),
    config({ checks: mode }),
  );
  const plans = new Map<ServiceKey, ServicePlan>([['default/web', planService(source.snapshot, 'default/web', 'n1').plan]]);
  const dataplane = new FakeDataplane();
  await dataplane.apply(new Map([['default/web', plans.get('default/web')?.forwarding]]));
  const host: { route: RouteAnswer; outcome: ProbeOutcome; probes: string[] } = { route: {}, outcome: 'answered', probes: [] };
  const ways: ReadWays = {
    routes: async (addresses) => addresses.map(() => host.route),
    answers: async (questions) => questions.map(() => ({})),
    neighbors: async () => [],
    interfaces: async () => new Map(),
    follow: () => () => undefined,
  };
  const probe: ProbeTcp = ({ address, port }, { onOutcome, onClosed }) => {
    host.probes.push(`${address}:${port}`);
    onOutcome(host.outcome);
    onClosed();
    return () => undefined;
  };
  // A look sees no connection of a client.
  const watchConnections: WatchConnections = ({ looked }) => ({
    awaitConnections: () => undefined,
    lookSoon: () => void clock.after(1_000, () => looked({ connections: [], began: clock.now(), share: 1 })),
    stop: () => undefined,
  });
  const checks = new ConnectionChecks(
    { watchConnections, ways, probe, dataplane, clock, random: () => 0.5, log: silentLog },
    { node: 'n1', snapshot: () => source.snapshot, plans: { byService: plans }, onStatusChanged: () => undefined },
  );
  checks.reconcile();
  const pass = async (milliseconds: number): Promise<void> => {
    for (let passed = 0; passed < milliseconds; passed += 1_000) {
      clock.advance(1_000);
      for (let turns = 0; turns < 20; turns++) await Promise.resolve();
    }
  };
  return { checks, host, pass };
}

test('an endpoint without a route fails without any connection, with the route', async () => {
  const { checks, host, pass } = await bed('passive');
  host.route = { problem: 'route unreachable 10.1.0.0/16' };
  await pass(90_000);
  expect(checks.reportPart().checks?.failing).toMatchObject([
    { service: 'default/web', areAll: true, reason: { code: 'EndpointUnroutable', details: { route: 'route unreachable 10.1.0.0/16' } } },
  ]);
  expect(host.probes).toEqual([]);
  host.route = {};
  await pass(90_000);
  expect(checks.reportPart().checks?.failing).toEqual([]);
  checks.stop();
});

test('in mode active a refused connection of the agent itself fails the endpoint, and an answered one is no answer to a client', async () => {
  const { checks, host, pass } = await bed('active');
  host.outcome = 'refused';
  await pass(120_000);
  expect(host.probes.length).toBeGreaterThan(1);
  expect(new Set(host.probes)).toEqual(new Set(['10.1.0.1:8080']));
  expect(checks.reportPart().checks?.failing).toMatchObject([{ reason: { code: 'EndpointRefuses' } }]);
  host.outcome = 'answered';
  await pass(600_000);
  expect(checks.reportPart().checks).toMatchObject({ failing: [], answered: [] });
  checks.stop();
});
