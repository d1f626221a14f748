import { describe, expect, test } from 'vitest';
import { ConnectionChecks } from '../../../../src/agent/checks/connection-checks.ts';
import { liveChecks } from '../../../../src/agent/live/live-checks.ts';
import { planService, type ServicePlan } from '../../../../src/agent/reconcile/service-plan.ts';
import { writeUrgency, type ReportContent } from '../../../../src/agent/report/write-urgency.ts';
import type { WatchHandlers } from '../../../../src/dataplane/conntrack/connection-watch.ts';
import { limits } from '../../../../src/agent/limits.ts';
import { LiveQuery } from '../../../../src/live/query.ts';
import type { CheckMode } from '../../../../src/model/objects/node-state.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { address } from '../../../../src/net/address.ts';
import type { ObservedConnection } from '../../../../src/net/observed-connection.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { config, node, service, slice } from '../../decisions/fixtures.ts';
import { TestSource } from '../../test-source.ts';
import { FakeDataplane } from '../fakes/fake-dataplane.ts';

const minute = 60_000;

/** Checks of node n1 with one Service, and a watch that tells what the test says. */
async function bed() {
  const clock = new VirtualClock();
  const source = new TestSource(
    node({ name: 'n1' }),
    service({ name: 'web', clusterIPs: ['10.96.0.1'], assigned: ['192.0.2.1'] }),
    slice({ service: 'web', ports: ['8080'], endpoints: ['10.1.0.1'] }),
  );
  const plans = new Map<ServiceKey, ServicePlan>([['default/web', planService(source.snapshot, 'default/web', 'n1').plan]]);
  const dataplane = new FakeDataplane();
  await dataplane.apply(new Map([['default/web', plans.get('default/web')?.forwarding]]));
  const state = { changes: 0, watches: 0, stopped: 0, asked: 0, askedAt: [] as number[], awaits: false };
  let handlers: WatchHandlers | undefined;
  const watchConnections = (given: WatchHandlers) => {
    handlers = given;
    state.watches++;
    return {
      lookSoon: (at?: number) => void (at === undefined ? state.asked++ : state.askedAt.push(at)),
      awaitConnections: (isOn: boolean) => (state.awaits = isOn),
      stop: () => state.stopped++,
    };
  };
  const checks = new ConnectionChecks(
    { watchConnections, dataplane, clock, random: () => 0, log: silentLog },
    { node: 'n1', snapshot: () => source.snapshot, plans: { byService: plans }, onStatusChanged: () => state.changes++ },
  );
  const watch = (): WatchHandlers => {
    if (handlers === undefined) throw new Error('nothing is watched');
    return handlers;
  };
  const setMode = (mode: CheckMode): void => {
    source.put(config({ checks: mode }));
    checks.reconcile();
  };
  checks.reconcile();
  return { clock, checks, plans, state, watch, setMode };
}

let ids = 0;
const seen = (outcome: ObservedConnection['outcome'], at: number): ObservedConnection => ({
  destination: address('192.0.2.1'),
  protocol: 'TCP',
  port: 80,
  endpoint: address('10.1.0.1'),
  endpointPort: 8080,
  id: ++ids,
  outcome,
  at,
});

describe('the checks of connections', () => {
  test('report a change once, however many connections are answered, and the end of it after ten minutes', async () => {
    const { clock, checks, state, watch } = await bed();
    expect(checks.reportPart()).toEqual({ checks: { mode: 'passive', answered: [], failing: [] } });
    const { changes } = state;
    for (let looks = 0; looks < 50; looks++) {
      clock.advance(10_000);
      watch().looked({ connections: [seen('answered', clock.now())], began: clock.now(), share: 1 });
    }
    expect(checks.reportPart().checks?.answered).toEqual(['192.0.2.1 TCP 80']);
    expect(state.changes - changes).toBe(1);
    clock.advance(10 * minute);
    watch().looked({ connections: [], began: clock.now(), share: 1 });
    expect(checks.reportPart().checks?.answered).toEqual([]);
    expect(state.changes - changes).toBe(2);
  });

  test('ask for a look when connections were refused, and report what it does not refute', async () => {
    const { clock, checks, state, watch } = await bed();
    const { asked } = state;
    watch().ended([seen('refused', clock.now()), seen('refused', clock.now())]);
    expect(state.asked - asked).toBe(1);
    clock.advance(5_000);
    expect(checks.reportPart().checks?.failing).toEqual([]);
    watch().looked({ connections: [], began: clock.now(), share: 1 });
    expect(checks.reportPart().checks?.failing).toMatchObject([{ service: 'default/web', reason: { code: 'EndpointRefuses' } }]);
    expect(checks.figures).toMatchObject({ failingEndpoints: 1, answeredFrontends: 0, isBlind: false });
    watch().looked({ connections: [seen('answered', clock.now())], began: clock.now(), share: 1 });
    expect(checks.reportPart().checks?.failing).toEqual([]);
  });

  test('ask for no look when connections are refused that are known to fail, and await those that clients open after a repair', async () => {
    const { clock, state, watch } = await bed();
    const refuse = (): void => watch().ended([seen('refused', clock.now())]);
    const look = (...connections: ObservedConnection[]): void => watch().looked({ connections, began: clock.now(), share: 1 });
    refuse();
    refuse();
    expect(state.awaits).toBe(false);
    look();
    expect(state.awaits).toBe(true);
    const { asked } = state;
    refuse();
    expect(state.asked).toBe(asked);
    look(seen('answered', clock.now()));
    expect(state.awaits).toBe(false);
    clock.advance(1_000);
    refuse();
    expect(state.asked).toBe(asked + 1);
  });

  test('ask for a look at the time at which a frontend is answered no longer, if its answers stopped', async () => {
    const { clock, checks, state, watch } = await bed();
    for (let looks = 0; looks < 10; looks++) {
      clock.advance(20_000);
      watch().looked({ connections: [seen('answered', clock.now())], began: clock.now(), share: 1 });
    }
    const last = clock.now();
    expect(state.askedAt).toEqual([]);
    clock.advance(20_000);
    watch().looked({ connections: [], began: clock.now(), share: 1 });
    expect(state.askedAt).toEqual([last + limits.quietMilliseconds]);
    expect([checks.figures.answeredFrontends, state.awaits]).toEqual([1, false]);
    clock.advance(11_000);
    watch().looked({ connections: [], began: clock.now(), share: 1 });
    expect([checks.figures.answeredFrontends, state.awaits]).toEqual([0, true]);
  });

  test('say why they are blind, and judge connections of the agent itself nevertheless', async () => {
    const { clock, checks, watch } = await bed();
    watch().blind('not permitted');
    clock.advance(1_000);
    expect(checks.reportPart().checks?.problem).toMatchObject({ code: 'ChecksBlind', details: { why: 'not permitted' } });
    checks.takeOwn([
      { ...seen('silent', 0), own: true },
      { ...seen('silent', 1), own: true },
    ]);
    clock.advance(1_000);
    expect(checks.reportPart().checks?.failing).toMatchObject([{ reason: { code: 'EndpointSilent' } }]);
    watch().blind(undefined);
    clock.advance(1_000);
    expect(checks.reportPart().checks?.problem).toBeUndefined();
  });

  test('follow HeraldConfig: off ends the watch and forgets, passive begins again', async () => {
    const { clock, checks, state, watch, setMode } = await bed();
    watch().looked({ connections: [seen('answered', 0)], began: 0, share: 1 });
    setMode('off');
    expect(checks.reportPart()).toEqual({ checks: { mode: 'off', answered: [], failing: [] } });
    expect([state.watches, state.stopped]).toEqual([1, 1]);
    setMode('active');
    clock.advance(1_000);
    expect(checks.reportPart()).toEqual({ checks: { mode: 'active', answered: [], failing: [] } });
    expect([state.watches, state.stopped]).toEqual([2, 1]);
    checks.stop();
    expect(state.stopped).toBe(2);
    setMode('passive');
    expect(state.watches).toBe(2);
  });

  test('watch nothing while this node forwards no Service', async () => {
    const { checks, plans, state } = await bed();
    plans.clear();
    checks.reconcile();
    expect([state.watches, state.stopped]).toEqual([1, 1]);
  });

  test('show the time of each outcome in the live API', async () => {
    const { clock, checks, watch } = await bed();
    clock.advance(10_000);
    watch().looked({
      connections: [seen('answered', 1_000), seen('used', 2_000), { ...seen('silent', 3_000), own: true }],
      began: 10_000,
      share: 1,
    });
    checks.setWays(new Map([['10.1.0.1', { kind: 'notOnLink', interface: 'eth0' }]]));
    const query = (text: string): LiveQuery => new LiveQuery(new URLSearchParams(text), ['service']);
    expect(liveChecks(checks.evidence, clock, query('service=default/web')).items).toEqual([
      {
        frontend: '192.0.2.1 TCP 80',
        service: 'default/web',
        answered: '2026-01-01T00:00:02.000Z',
        endpoints: [
          {
            endpoint: '10.1.0.1:8080',
            answered: '2026-01-01T00:00:02.000Z',
            silent: '2026-01-01T00:00:03.000Z',
            way: 'nobody answers on eth0',
            own: true,
          },
        ],
      },
    ]);
    expect(liveChecks(checks.evidence, clock, query('service=default/other')).items).toEqual([]);
  });
});

test('a failing endpoint is reported at once, an answered frontend soon', async () => {
  const { clock, checks, watch } = await bed();
  const content = (): ReportContent => ({ sessions: [], differing: [], consumed: {}, ...checks.reportPart() });
  const before = content();
  watch().looked({ connections: [seen('answered', 0)], began: 0, share: 1 });
  const answered = content();
  expect(writeUrgency(before, answered)).toBe('answers');
  watch().ended([seen('refused', 1), seen('refused', 2)]);
  clock.advance(1_000);
  watch().looked({ connections: [], began: clock.now(), share: 1 });
  expect(writeUrgency(answered, content())).toBe('now');
});
