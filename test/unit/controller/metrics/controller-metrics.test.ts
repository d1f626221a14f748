import { expect, test } from 'vitest';
import { ControllerMetrics } from '../../../../src/controller/metrics/controller-metrics.ts';
import { countedWriter } from '../../../../src/controller/metrics/counted-writer.ts';
import type { StatusWriter } from '../../../../src/controller/status-writer.ts';
import type { Condition } from '../../../../src/model/objects/condition.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { reason, type ReasonCode } from '../../../../src/model/reasons.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { Metrics } from '../../../../src/telemetry/metrics.ts';
import { node } from '../../decisions/fixtures.ts';
import { sampleOf, samplesOf } from '../../telemetry/scrape.ts';

const assigned: Condition = { type: 'herald.dev/AddressAssigned', status: 'True', reason: 'Assigned', message: '' };
const refused = (reason: string): Condition => ({ type: 'herald.dev/AddressAssigned', status: 'False', reason, message: '' });
const no = (pool: string, code: ReasonCode) => ({ of: pool, code });
const [a, b] = ['shop/a', 'shop/b'] as ServiceKey[] as [ServiceKey, ServiceKey];

test('waiting Services are counted once by reason, and by each pool that refused them', async () => {
  const metrics = new Metrics();
  const observer = new ControllerMetrics(metrics);
  observer.conditionsWritten(a, [refused('NoPoolFits')], [no('one', 'PoolFull'), no('two', 'PoolFull')]);
  observer.conditionsWritten(b, [refused('NoPoolFits')], [no('one', 'PoolFull')]);
  const before = await metrics.text();
  expect(sampleOf(before, 'herald_pending_services{reason="NoPoolFits"}')).toBe(2);
  expect(sampleOf(before, 'herald_pending_services_by_pool{pool="one",reason="PoolFull"}')).toBe(2);
  expect(sampleOf(before, 'herald_pending_services_by_pool{pool="two",reason="PoolFull"}')).toBe(1);
  observer.conditionsWritten(a, [assigned], []);
  observer.conditionsWritten(a, [assigned], []);
  observer.serviceRemoved(b);
  observer.serviceRemoved(b);
  const after = await metrics.text();
  expect(sampleOf(after, 'herald_pending_services{reason="NoPoolFits"}')).toBe(0);
  expect(sampleOf(after, 'herald_service_conditions{condition="AddressAssigned",status="True",reason="Assigned"}')).toBe(1);
  expect(samplesOf(after, 'herald_pending_services_by_pool').size).toBe(0);
});

test('pools and queues are read at each scrape', async () => {
  const metrics = new Metrics();
  const observer = new ControllerMetrics(metrics);
  const usage = [{ pool: 'main', family: 6 as const, total: 2n ** 64n, free: 2n ** 64n - 3n, assigned: 3 }];
  const queue = { depth: 4, retries: 2, longestMilliseconds: 1_500 };
  observer.expose({ figures: () => ({ services: queue, configuration: queue }) }, [{ usage: () => usage } as never]);
  const text = await metrics.text();
  expect(sampleOf(text, 'herald_pool_size_addresses{pool="main",family="ipv6"}')).toBe(2 ** 64);
  expect(sampleOf(text, 'herald_pool_addresses{pool="main",family="ipv6",state="assigned"}')).toBe(3);
  expect(sampleOf(text, 'herald_pool_addresses{pool="main",family="ipv6",state="kept"}')).toBe(0);
  expect(sampleOf(text, 'herald_queue_depth{queue="services"}')).toBe(4);
  expect(sampleOf(text, 'herald_queue_waiting_retries{queue="services"}')).toBe(2);
  expect(sampleOf(text, 'herald_queue_longest_work_seconds{queue="services"}')).toBe(1.5);
  observer.stop();
  expect(samplesOf(await metrics.text(), 'herald_pool_addresses').size).toBe(0);
});

test('Nodes whose agent reports no more are counted by their last report', async () => {
  const metrics = new Metrics();
  const observer = new ControllerMetrics(metrics);
  const store = new Store();
  for (const name of ['n1', 'n2', 'n3', 'n4']) store.upsert(node({ name }));
  const report = (name: string, updated: string, more: Partial<NodeState> = {}): void => {
    const { metadata } = node({ name });
    store.upsert({ kind: 'NodeState', metadata, updated, consumed: {}, sessions: [], differing: [], ...more });
  };
  report('n1', '2026-01-01T00:10:00Z');
  report('n2', '2026-01-01T00:00:00Z');
  report('n3', '2026-01-01T00:10:00Z', { problem: reason('AgentStopped', { node: 'n3' }) });
  report('gone', '2026-01-01T00:00:00Z');
  observer.exposeNodes(
    () => store,
    () => Date.parse('2026-01-01T00:10:30Z'),
  );
  const text = await metrics.text();
  const of = (last: string): number | undefined => sampleOf(text, `herald_nodes_without_report{last="${last}"}`);
  expect([of('silent'), of('stopped'), of('none')]).toEqual([1, 1, 1]);
  observer.stop();
  expect(samplesOf(await metrics.text(), 'herald_nodes_without_report').size).toBe(0);
});

test('results of providers and queue work are counted', async () => {
  const metrics = new Metrics();
  const observer = new ControllerMetrics(metrics);
  observer.reconciled('aws', undefined, 2_000);
  observer.reconciled('bare-metal', { ingress: [] }, 1);
  observer.reconcileFinished('services', 'failed');
  const text = await metrics.text();
  expect(sampleOf(text, 'herald_reconcile_duration_seconds_sum{provider="aws",result="failed"}')).toBe(2);
  expect(sampleOf(text, 'herald_reconcile_duration_seconds_count{provider="bare-metal",result="met"}')).toBe(1);
  expect(sampleOf(text, 'herald_queue_work_total{queue="services",result="failed"}')).toBe(1);
});

test('writes are counted by result, and no disownService is added to a writer without it', async () => {
  const metrics = new Metrics();
  const errors: unknown[] = [undefined, Object.assign(new Error('raced'), { code: 'conflict' }), new Error('no')];
  const inner = {
    writeService: async () => {
      const error = errors.shift();
      if (error !== undefined) throw error as Error;
    },
  } as unknown as StatusWriter;
  const writer = countedWriter(inner, metrics);
  const write = () => writer.writeService(a, { ingress: [], conditions: [] }, { uid: '', resourceVersion: '' });
  await write();
  await expect(write()).rejects.toThrow('raced');
  await expect(write()).rejects.toThrow('no');
  expect('disownService' in writer).toBe(false);
  const text = await metrics.text();
  for (const result of ['done', 'conflict', 'failed'])
    expect(sampleOf(text, `herald_status_writes_total{kind="Service",result="${result}"}`)).toBe(1);
});
