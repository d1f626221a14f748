import { expect, test } from 'vitest';
import { AgentMetrics } from '../../../../src/agent/metrics/agent-metrics.ts';
import { agentHealth } from '../../../../src/agent/metrics/agent-health.ts';
import { measuredConntrack } from '../../../../src/agent/metrics/measured-ports.ts';
import { MeasuredDataplane } from '../../../../src/agent/metrics/measured-dataplane.ts';
import { measuredListener } from '../../../../src/agent/metrics/measured-listener.ts';
import type { ConntrackCleaner, StaleFlows } from '../../../../src/dataplane/conntrack/conntrack-cleaner.ts';
import { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import { address } from '../../../../src/net/address.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { Health } from '../../../../src/telemetry/health.ts';
import { limits } from '../../../../src/telemetry/limits.ts';
import { Metrics } from '../../../../src/telemetry/metrics.ts';
import { sampleOf, samplesOf } from '../../telemetry/scrape.ts';
import { decideForwarding } from '../../../../src/decisions/forwarding/plan.ts';
import type { ServiceForwarding } from '../../../../src/net/frontend.ts';
import { cluster, slice } from '../../decisions/fixtures.ts';
import { FakeDataplane } from '../fakes/fake-dataplane.ts';
import { FakeHttp } from '../fakes/fake-http.ts';
import { basics, gate, testbed, web, type Testbed } from '../testbed.ts';

const rule = 'herald_change_to_rule_duration_seconds';
const route = 'herald_change_to_route_duration_seconds';

async function measured(): Promise<{
  readonly bed: Testbed;
  readonly metrics: Metrics;
  readonly value: (series: string) => Promise<number | undefined>;
}> {
  const metrics = new Metrics();
  const bed = testbed([...basics, ...web('web', ['192.0.2.1'])], {
    observer: ({ source, clock }) => new AgentMetrics({ metrics, source, clock }),
  });
  bed.observer?.expose(() => bed.agent.status());
  await bed.agent.start();
  await bed.settle();
  return { bed, metrics, value: async (series) => sampleOf(await metrics.text(), series) };
}

const endpoints = (at: string | undefined, ...addresses: string[]) => {
  const object = slice({ service: 'web', name: 'web-4', ports: ['80'], endpoints: addresses });
  if (at === undefined) return object;
  return { ...object, metadata: { ...object.metadata, annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': at } } };
};

test('objects that exist at the start are not changes', async () => {
  const { metrics } = await measured();
  const text = await metrics.text();
  expect(samplesOf(text, `${rule}_count`).size).toBe(0);
  expect(sampleOf(text, 'herald_pass_duration_seconds_count{result="done"}')).toBeGreaterThan(0);
  expect(sampleOf(text, 'herald_dataplane_up')).toBe(1);
});

test('a new Service is timed from its event until the kernel has its rules and its routes are sent', async () => {
  const { bed, value } = await measured();
  const { wait, open } = gate();
  bed.dataplane.answer = wait;
  bed.source.put(...web('new', ['192.0.2.2']));
  await bed.advance(3_000);
  expect(await value(`${rule}_count{kind="Service"}`)).toBeUndefined();
  expect(await value('kubeproxy_sync_proxy_rules_service_changes_pending')).toBe(1);
  open();
  await bed.settle();
  expect(await value(`${rule}_count{kind="Service"}`)).toBe(1);
  expect(await value(`${rule}_sum{kind="Service"}`)).toBe(3);
  expect(await value(`${route}_count{kind="Service"}`)).toBe(1);
  expect(await value(`${route}_sum{kind="Service"}`)).toBe(3);
  expect(await value('kubeproxy_sync_proxy_rules_service_changes_pending')).toBe(0);
  expect(await value('kubeproxy_sync_proxy_rules_service_changes_total')).toBe(1);
});

test("endpoints with a trigger time are timed from it, as kube-proxy's network programming", async () => {
  const { bed, value } = await measured();
  await bed.advance(60_000);
  const changed = new Date(bed.clock.date().getTime() - 1_500).toISOString();
  bed.source.put(endpoints(changed, '10.1.0.1', '10.1.0.2'));
  await bed.settle();
  expect(await value(`${rule}_sum{kind="EndpointSlice"}`)).toBe(1.5);
  expect(await value('kubeproxy_network_programming_duration_seconds_sum{ip_family="IPv4"}')).toBe(1.5);
  expect(await value('herald_change_heard_duration_seconds_sum')).toBe(1.5);
  // The same annotation again belongs to another change that has no trigger time.
  await bed.advance(60_000);
  bed.source.put(endpoints(changed, '10.1.0.1', '10.1.0.3'));
  await bed.settle();
  expect(await value(`${rule}_count{kind="EndpointSlice"}`)).toBe(2);
  expect(await value(`${rule}_sum{kind="EndpointSlice"}`)).toBe(1.5);
  expect(await value('kubeproxy_network_programming_duration_seconds_count{ip_family="IPv4"}')).toBe(1);
  // An unchanged route was not sent.
  expect(await value(`${route}_count{kind="EndpointSlice"}`)).toBeUndefined();
});

test('changes from before the start are not timed', async () => {
  const { bed, value } = await measured();
  bed.source.put(endpoints('2020-01-01T00:00:00Z', '10.1.0.1', '10.1.0.2'));
  await bed.settle();
  expect(await value(`${rule}_sum{kind="EndpointSlice"}`)).toBe(0);
  expect(await value('kubeproxy_network_programming_duration_seconds_count{ip_family="IPv4"}')).toBeUndefined();
});

test('a change that the data plane did not take keeps waiting, and its whole time counts', async () => {
  const { bed, value } = await measured();
  bed.dataplane.failure = new DataplaneError('failed', 'no');
  bed.source.put(endpoints(undefined, '10.1.0.2'));
  await bed.settle();
  expect(await value('herald_pass_duration_seconds_count{result="failed"}')).toBe(1);
  expect(await value('herald_dataplane_up')).toBe(0);
  expect(await value(`${rule}_count{kind="EndpointSlice"}`)).toBeUndefined();
  bed.dataplane.failure = undefined;
  await bed.advance(100_000);
  expect(await value(`${rule}_count{kind="EndpointSlice"}`)).toBe(1);
  expect(await value(`${rule}_sum{kind="EndpointSlice"}`)).toBeGreaterThan(0);
  expect(await value('herald_dataplane_up')).toBe(1);
});

test('a withdrawal counts as a change of routes', async () => {
  const { bed, value } = await measured();
  bed.source.put(endpoints(undefined));
  await bed.settle();
  expect(await value(`${route}_count{kind="EndpointSlice"}`)).toBe(1);
});

test("calls of the data plane are counted by result, under kube-proxy's names as well", async () => {
  const metrics = new Metrics();
  const inner = new FakeDataplane([]);
  const dataplane = new MeasuredDataplane(inner, metrics, new VirtualClock());
  await dataplane.apply(new Map());
  inner.failure = new DataplaneError('failed', 'no');
  await expect(dataplane.apply(new Map())).rejects.toThrow('no');
  const text = await metrics.text();
  expect(sampleOf(text, 'herald_dataplane_call_duration_seconds_count{call="apply",result="done"}')).toBe(1);
  expect(sampleOf(text, 'herald_dataplane_call_duration_seconds_count{call="apply",result="failed"}')).toBe(1);
  expect(sampleOf(text, 'herald_dataplane_failures_total')).toBe(1);
  for (const family of ['IPv4', 'IPv6']) {
    expect(sampleOf(text, `kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family="${family}"}`)).toBe(1);
    expect(sampleOf(text, `kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="${family}"}`)).toBe(1);
    expect(sampleOf(text, `kubeproxy_sync_proxy_rules_nftables_sync_failures_total{ip_family="${family}"}`)).toBe(1);
  }
});

test('ports with policy Local and no local endpoint are counted as kube-proxy does', async () => {
  const metrics = new Metrics();
  const dataplane = new MeasuredDataplane(new FakeDataplane([]), metrics, new VirtualClock());
  const forwardingOf = (policies: object, endpoints: readonly string[]): ServiceForwarding => {
    const snapshot = cluster({
      nodes: [{ name: 'node1' }, { name: 'node2' }],
      services: [
        {
          name: 'web',
          ports: ['http:80/TCP@30080', 'https:443/TCP@30443'],
          assigned: ['192.0.2.1', '192.0.2.2'],
          ...policies,
        },
      ],
      slices: [{ service: 'default/web', ports: ['http:8080', 'https:8443'], endpoints: [...endpoints] }],
    });
    const [service] = snapshot.services.values();
    return decideForwarding(snapshot, service ?? expect.fail(), 'node1').forwarding ?? { frontends: [] };
  };
  const counted = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      [...samplesOf(await metrics.text(), 'kubeproxy_sync_proxy_rules_no_local_endpoints_total')].map(([series, value]) => [
        /traffic_policy="(\w+)",ip_family="(\w+)"/.exec(series)?.slice(1).join(' ') ?? series,
        value,
      ]),
    );
  const none = { 'external IPv4': 0, 'external IPv6': 0, 'internal IPv4': 0, 'internal IPv6': 0 };
  const local = { externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local' };
  expect(await counted()).toEqual(none);
  await dataplane.apply(new Map([['default/web', forwardingOf(local, ['10.1.0.2@node2'])]]));
  expect(await counted()).toEqual({ ...none, 'external IPv4': 2, 'internal IPv4': 2 });
  await dataplane.apply(new Map([['default/web', forwardingOf({ externalTrafficPolicy: 'Local' }, ['10.1.0.2@node2'])]]));
  expect(await counted()).toEqual({ ...none, 'external IPv4': 2 });
  await dataplane.apply(new Map([['default/web', forwardingOf(local, ['10.1.0.2@node2', '10.1.0.1@node1'])]]));
  expect(await counted()).toEqual(none);
  await dataplane.apply(new Map([['default/web', forwardingOf(local, [])]]));
  expect(await counted()).toEqual(none);
  await dataplane.apply(new Map([['default/web', forwardingOf(local, ['10.1.0.2@node2'])]]));
  await dataplane.apply(new Map([['default/web', undefined]]));
  expect(await counted()).toEqual(none);
});

test('deleted flows are counted and timed by address family as kube-proxy does, failures are not', async () => {
  const metrics = new Metrics();
  const clock = new VirtualClock();
  const asked: StaleFlows[][] = [];
  const failure = new DataplaneError('failed', 'no');
  const inner: ConntrackCleaner = {
    delete: async (flows) => {
      if (flows.some(({ port }) => port === 54)) throw failure;
      asked.push([...flows]);
      clock.advance(1_500 * flows.length);
      return 10 * flows.length;
    },
    each: async () => undefined,
    close: () => undefined,
  };
  const cleaner = measuredConntrack(inner, metrics, clock);
  const flows = (replySource: string): StaleFlows => ({ protocol: 'UDP', port: 53, replySource: address(replySource) });
  const [four, more, six] = [flows('10.1.0.1'), flows('10.1.0.2'), flows('fd00::1')];
  const figures = async (): Promise<(number | undefined)[]> => {
    const text = await metrics.text();
    return ['IPv4', 'IPv6'].flatMap((family) =>
      ['deleted_entries_total', 'sync_duration_seconds_count', 'sync_duration_seconds_sum'].map((name) =>
        sampleOf(text, `kubeproxy_conntrack_reconciler_${name}{ip_family="${family}"}`),
      ),
    );
  };
  expect(await figures()).toEqual([0, undefined, undefined, 0, undefined, undefined]);
  expect(await cleaner.delete([])).toBe(0);
  expect(await cleaner.delete([four, six, more])).toBe(30);
  expect(asked).toEqual([[four, more], [six]]);
  expect(await figures()).toEqual([20, 1, 3, 10, 1, 1.5]);
  await expect(cleaner.delete([{ ...four, port: 54 }])).rejects.toBe(failure);
  expect(await figures()).toEqual([20, 1, 3, 10, 1, 1.5]);
});

test('health checks are counted by status', async () => {
  const metrics = new Metrics();
  const http = new FakeHttp();
  const listen = measuredListener(http.listen, metrics, {
    healthz: [{ address: '0.0.0.0', port: 10_256 }],
    proxyStatus: { address: '127.0.0.1', port: 10_249 },
  });
  const bounds = { connections: 1, headerBytes: 1, answerMilliseconds: 1, idleMilliseconds: 1 };
  const answer = () => ({ status: 503, headers: {}, body: '' });
  const node = await listen({ address: '0.0.0.0', port: 10_256 }, answer, bounds);
  await listen({ address: '0.0.0.0', port: 30_000 }, answer, bounds);
  http.get('0.0.0.0:10256', '/healthz');
  http.get('0.0.0.0:10256', '/livez');
  http.get('0.0.0.0:30000', '/');
  const text = await metrics.text();
  expect(sampleOf(text, 'kubeproxy_proxy_healthz_total{code="503"}')).toBe(1);
  expect(sampleOf(text, 'kubeproxy_proxy_livez_total{code="503"}')).toBe(1);
  expect(sampleOf(text, 'herald_health_check_requests_total{code="503"}')).toBe(1);
  expect(sampleOf(text, 'herald_health_check_listeners')).toBe(2);
  await node.close();
  expect(sampleOf(await metrics.text(), 'herald_health_check_listeners')).toBe(1);
});

test('an agent is ready after its first pass, and not live while a pass does not end', async () => {
  const bed = testbed([...basics, ...web('web', ['192.0.2.1'])]);
  const health = new Health();
  health.addCheck(agentHealth(() => bed.agent.status(), bed.clock));
  expect(health.answer('/readyz').body).toContain('the first pass has not been committed yet');
  await bed.agent.start();
  await bed.settle();
  expect(health.answer('/readyz').status).toBe(200);
  bed.dataplane.failure = new DataplaneError('failed', 'no');
  bed.source.put(endpoints(undefined, '10.1.0.2'));
  await bed.settle();
  expect(health.answer('/readyz')).toMatchObject({ status: 503, body: expect.stringContaining('the data plane took no change: no') });
  expect(health.answer('/livez').status).toBe(200);
  bed.dataplane.failure = undefined;
  const { wait } = gate();
  bed.dataplane.answer = wait;
  await bed.advance(100_000);
  await bed.advance(limits.stuckMilliseconds);
  expect(health.answer('/livez')).toMatchObject({ status: 503, body: expect.stringContaining('a pass has been running for') });
});
