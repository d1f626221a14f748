import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/system/clock.ts';
import { silentLog } from '../../../src/system/log.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { collectWithTimeout } from '../../../src/telemetry/collect-with-timeout.ts';
import { limits } from '../../../src/telemetry/limits.ts';
import { Metrics } from '../../../src/telemetry/metrics.ts';
import { registerProcessMetrics } from '../../../src/telemetry/process-metrics.ts';
import { sampleOf, samplesOf } from './scrape.ts';

describe('metrics of events', () => {
  test('counters add up by their labels, histograms have the buckets of the table', async () => {
    const metrics = new Metrics();
    metrics.add('herald_events_total', { type: 'Warning' });
    metrics.add('herald_events_total', { type: 'Warning' }, 2);
    metrics.add('herald_events_total', { type: 'Normal' });
    metrics.observe('herald_pass_duration_seconds', { result: 'done' }, 0.003);
    metrics.observe('herald_pass_duration_seconds', { result: 'done' }, -1);
    const text = await metrics.text();
    expect(sampleOf(text, 'herald_events_total{type="Warning"}')).toBe(3);
    expect(sampleOf(text, 'herald_events_total{type="Normal"}')).toBe(1);
    expect(sampleOf(text, 'herald_pass_duration_seconds_bucket{le="0.002",result="done"}')).toBe(1);
    expect(sampleOf(text, 'herald_pass_duration_seconds_bucket{le="0.004",result="done"}')).toBe(2);
    expect(sampleOf(text, 'herald_pass_duration_seconds_sum{result="done"}')).toBe(0.003);
    expect(text).toContain('# TYPE herald_pass_duration_seconds histogram');
    expect(metrics.contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  test('a metric without values is absent; a described one without labels is 0', async () => {
    const metrics = new Metrics();
    metrics.describe('herald_dataplane_repairs_total');
    const text = await metrics.text();
    expect(sampleOf(text, 'herald_dataplane_repairs_total')).toBe(0);
    expect(text).not.toContain('herald_leader');
  });

  test('text in labels is escaped', async () => {
    const metrics = new Metrics();
    metrics.add('herald_bgp_notifications_total', { peer: 'a"b\\c\nd', direction: 'sent', name: 'x' });
    expect(await metrics.text()).toContain('peer="a\\"b\\\\c\\nd"');
  });

  test('a metric has a bounded number of series; further ones share one', async () => {
    const metrics = new Metrics();
    for (let i = 0; i < limits.series + 7; i++) metrics.add('herald_events_lost_total', { why: `w${i}` });
    metrics.add('herald_events_lost_total', { why: 'w0' });
    const text = await metrics.text();
    expect(samplesOf(text, 'herald_events_lost_total').size).toBe(limits.series + 1);
    expect(sampleOf(text, 'herald_events_lost_total{why="other"}')).toBe(7);
    expect(sampleOf(text, 'herald_events_lost_total{why="w0"}')).toBe(2);
    expect(sampleOf(text, 'herald_series_dropped_total{metric="herald_events_lost_total"}')).toBe(7);
  });
});

describe('collectors', () => {
  test('a scrape has the values of that moment; a series that is not set again is gone', async () => {
    const metrics = new Metrics();
    let pools = ['a', 'b'];
    metrics.addCollector('pools', ['herald_pool_size_addresses'], (put) => {
      for (const pool of pools) put('herald_pool_size_addresses', { pool, family: 'ipv4' }, pools.length);
    });
    expect([...samplesOf(await metrics.text(), 'herald_pool_size_addresses').values()]).toEqual([2, 2]);
    pools = ['b'];
    const text = await metrics.text();
    expect(samplesOf(text, 'herald_pool_size_addresses').size).toBe(1);
    expect(sampleOf(text, 'herald_pool_size_addresses{pool="b",family="ipv4"}')).toBe(1);
  });

  test('a counter of a collector has the collected total', async () => {
    const metrics = new Metrics();
    let flaps = 3;
    metrics.addCollector('bgp', ['herald_bgp_session_established_total'], (put) =>
      put('herald_bgp_session_established_total', { peer: 'tor1' }, flaps),
    );
    await metrics.text();
    flaps = 5;
    expect(sampleOf(await metrics.text(), 'herald_bgp_session_established_total{peer="tor1"}')).toBe(5);
  });

  test('two scrapes at once do not disturb each other', async () => {
    const metrics = new Metrics();
    metrics.addCollector('bfd', ['herald_bfd_session_ups_total'], async (put) => {
      await Promise.resolve();
      put('herald_bfd_session_ups_total', { peer: 'tor1' }, 4);
    });
    const texts = await Promise.all([metrics.text(), metrics.text()]);
    for (const text of texts) expect(sampleOf(text, 'herald_bfd_session_ups_total{peer="tor1"}')).toBe(4);
  });

  test('a collector that fails or takes too long is left out, the others are there', async () => {
    const clock = new VirtualClock();
    const metrics = new Metrics(collectWithTimeout({ clock, log: silentLog }));
    metrics.addCollector('bfd', ['herald_bfd_session_up'], () => new Promise(() => undefined));
    metrics.addCollector('bgp', ['herald_bgp_session_up'], () => {
      throw new Error('a bug');
    });
    metrics.addCollector('leader', ['herald_leader'], (put) => put('herald_leader', {}, 1));
    const scrape = metrics.text();
    await Promise.resolve();
    clock.advance(limits.partMilliseconds);
    const text = await scrape;
    expect(sampleOf(text, 'herald_leader')).toBe(1);
    expect(sampleOf(text, 'herald_scrape_failures_total{part="bfd"}')).toBe(1);
    expect(sampleOf(text, 'herald_scrape_failures_total{part="bgp"}')).toBe(1);
  });

  test('the metrics of a collector are gone after its removal', async () => {
    const metrics = new Metrics();
    const end = metrics.addCollector('peers', ['herald_bgp_session_up'], (put) => put('herald_bgp_session_up', { peer: 'tor1' }, 1));
    await metrics.text();
    end();
    expect(samplesOf(await metrics.text(), 'herald_bgp_session_up').size).toBe(0);
  });
});

test('process metrics have memory, processor and event loop, and no gauge that is called a counter', async () => {
  const metrics = new Metrics();
  const end = registerProcessMetrics(metrics, systemClock);
  const text = await metrics.text();
  end();
  expect(sampleOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
  expect(text).toContain('nodejs_eventloop_lag_p99_seconds');
  for (const [, name, type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm))
    expect([name, name?.endsWith('_total')]).toEqual([name, type === 'counter']);
});
