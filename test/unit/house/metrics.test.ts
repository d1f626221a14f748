import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { metricsPage } from '../../../scripts/generate/metrics-page.ts';
import type { MetricDeclaration } from '../../../src/telemetry/declaration.ts';
import { limits } from '../../../src/telemetry/limits.ts';
import { allMetrics } from '../../support/built-in-providers.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/metrics.md'), 'utf8');
const declarations: [string, MetricDeclaration][] = Object.entries(allMetrics);

test('docs/reference/metrics.md is what npm run generate writes', () => {
  expect(page).toBe(metricsPage());
  expect(page).toContain(`at most ${limits.series} series`);
});

test('names follow Prometheus: _total for counters only, base units, no other units', () => {
  const others = declarations.filter(([name]) => name.startsWith('herald_'));
  expect(others.length).toBeGreaterThan(40);
  for (const [name, { type }] of others) {
    expect(name).toMatch(/^herald_[a-z][a-z0-9]*(_[a-z]+)*$/);
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    if (type === 'histogram') expect(name).toMatch(/_duration_seconds$/);
    expect(name).not.toMatch(/_(milliseconds|ms|minutes|kilobytes)(_|$)/);
  }
});

test("no label can hold a Service, a client's address or unbounded text", () => {
  const labels = new Set(declarations.flatMap(([, declaration]) => Object.keys(declaration.labels)));
  for (const unbounded of ['service', 'namespace', 'frontend', 'prefix', 'uid', 'message', 'error'])
    expect([...labels]).not.toContain(unbounded);
});

test('each metric has one sentence of help, and each label a description of its values', () => {
  for (const [name, { help, labels, buckets, type }] of declarations) {
    expect([name, help]).toEqual([name, expect.stringMatching(/^[A-Z].*\.$/)]);
    for (const values of Object.values(labels)) expect(values).not.toBe('');
    expect([name, buckets !== undefined]).toEqual([name, type === 'histogram']);
    expect(buckets ?? []).toEqual([...(buckets ?? [])].toSorted((a, b) => a - b));
  }
});
