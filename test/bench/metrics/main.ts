import { parseArgs } from 'node:util';
import { ControllerMetrics } from '../../../src/controller/metrics/controller-metrics.ts';
import { AgentMetrics } from '../../../src/agent/metrics/agent-metrics.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { Metrics } from '../../../src/telemetry/metrics.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { registerProcessMetrics } from '../../../src/telemetry/process-metrics.ts';
import { conditionLines, conditions } from '../runner/conditions.ts';
import { packages } from '../runner/versions.ts';
import { basics, testbed, web } from '../../unit/agent/testbed.ts';
import { pool } from '../../unit/decisions/fixtures.ts';

/**
 * Measures the cost of a scrape of an agent and of a controller with many Services. A scrape only reads stored values, so its cost must not
 * grow with the number of Services. `node test/bench/metrics/main.ts [--services 10,10000] [--json]`
 */
const { values } = parseArgs({
  options: { services: { type: 'string', default: '10,1000,10000' }, json: { type: 'boolean', default: false } },
});

interface Line {
  readonly of: 'agent' | 'controller';
  readonly services: number;
  readonly medianMilliseconds: number;
  readonly worstMilliseconds: number;
  readonly bytes: number;
}

async function scrapes(of: Line['of'], services: number, metrics: Metrics): Promise<Line> {
  const times: number[] = [];
  let bytes = 0;
  for (let i = 0; i < 60; i++) {
    const began = performance.now();
    bytes = (await metrics.text()).length;
    if (i >= 10) times.push(performance.now() - began);
  }
  const sorted = times.toSorted((a, b) => a - b);
  const rounded = (time: number): number => Math.round(time * 100) / 100;
  return { of, services, medianMilliseconds: rounded(sorted[25] ?? 0), worstMilliseconds: rounded(sorted.at(-1) ?? 0), bytes };
}

async function ofAgent(count: number): Promise<Line> {
  const metrics = new Metrics();
  registerProcessMetrics(metrics, new VirtualClock());
  const address = (i: number): string => `10.9.${i >> 8}.${i & 255}`;
  const services = Array.from({ length: count }, (_, i) => web(`web-${i}`, [address(i)])).flat();
  const bed = testbed([...basics, pool({ name: 'many', addresses: ['10.9.0.0/16'] }), ...services], {
    observer: ({ source, clock }) => new AgentMetrics({ metrics, source, clock }),
  });
  bed.observer?.expose(() => bed.agent.status());
  const start = { isOver: false };
  void bed.agent.start().then(() => (start.isOver = true));
  while (!start.isOver) await bed.settle();
  return scrapes('agent', count, metrics);
}

async function ofController(count: number): Promise<Line> {
  const metrics = new Metrics();
  registerProcessMetrics(metrics, new VirtualClock());
  const observer = new ControllerMetrics(metrics);
  const queue = { depth: 0, retries: 0, longestMilliseconds: 0 };
  const usage = Array.from({ length: 50 }, (_, i) => ({ pool: `pool-${i}`, family: 4 as const, total: 256n, free: 1n, assigned: 255 }));
  observer.expose({ figures: () => ({ services: queue, configuration: queue }) }, [{ usage: () => usage } as never]);
  for (let i = 0; i < count; i++) {
    const waits = i % 10 === 0;
    const condition = {
      type: 'herald.dev/AddressAssigned',
      status: waits ? 'False' : 'True',
      reason: waits ? 'NoPoolFits' : 'Assigned',
      message: '',
    } as const;
    observer.conditionsWritten(`shop/web-${i}` as ServiceKey, [condition], waits ? [{ of: `pool-${i % 50}`, code: 'PoolFull' }] : []);
  }
  return scrapes('controller', count, metrics);
}

const lines: Line[] = [];
for (const count of values.services.split(',').map(Number)) {
  lines.push(await ofAgent(count));
  lines.push(await ofController(count));
}
const under = conditions(packages('prom-client'));
if (values.json) console.log(JSON.stringify({ conditions: under, lines }));
else {
  console.log(conditionLines(under));
  console.table(lines);
}
