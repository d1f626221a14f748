import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Series } from './promtool.ts';

/** Duration of a test in minutes. */
export const minutes = 90;

/**
 * The series of a healthy cluster in Prometheus: an agent and a controller as scraped in the lab (test/lab/metrics.test.ts, HERALD_RECORD),
 * unchanged for an hour and a half except that timestamps advance, with the labels of manifests/monitoring/pod-monitors.yaml.
 */
export function healthy(): Series[] {
  return [...recordedOf('agent', 'node1', '10.0.0.11:10290'), ...recordedOf('controller', 'node2', '10.244.2.7:10292')];
}

function recordedOf(component: string, node: string, instance: string): Series[] {
  const labels = `job="herald-${component}",node="${node}",instance="${instance}"`;
  const text = readFileSync(join(import.meta.dirname, 'recorded', `${component}.txt`), 'utf8');
  const scraped = text.split('\n').flatMap((line) => {
    if (line === '' || line.startsWith('#')) return [];
    const space = line.lastIndexOf(' ');
    const [series, value] = [line.slice(0, space), line.slice(space + 1)];
    return [{ series: withLabels(series, labels), values: valuesOf(series, value) }];
  });
  return [{ series: `up{${labels}}`, values: constant(1) }, ...scraped];
}

export function constant(value: number | string): string {
  return `${value}+0x${minutes}`;
}

/** Returns the series with `other` added, or in place of the same series. */
export function changed(series: readonly Series[], other: readonly Series[]): Series[] {
  const names = new Set(other.map((one) => one.series));
  return [...series.filter((one) => !names.has(one.series)), ...other];
}

function withLabels(series: string, labels: string): string {
  return series.endsWith('}') ? `${series.slice(0, -1)},${labels}}` : `${series}{${labels}}`;
}

/** Time starts at 0 in a test of promtool. */
function valuesOf(series: string, value: string): string {
  if (series.startsWith('herald_watch_last_heard_timestamp_seconds')) return `0+60x${minutes}`;
  return constant(value === 'Nan' ? 'NaN' : value);
}
