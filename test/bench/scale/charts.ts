import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { curves, pointsOf } from './curves.ts';
import type { SizeResult } from './results.ts';
import { chart, type Chart } from './svg.ts';

/** File, title and unit of each chart, with the curves in it and their names there. */
const charts: readonly (readonly [string, string, string, Readonly<Record<string, string>>])[] = [
  [
    'scale-api-server',
    'The API server under changes, for all agents',
    'each line in its unit',
    {
      'API server CPU for Herald, under changes': 'CPU, % of a core',
      'Watch events to all agents': 'watch events/s',
      'Bytes to all agents': 'MB/s',
      'Requests of all agents, under changes': 'requests/s',
    },
  ],
  [
    'scale-agent-bytes',
    'Bytes that one process reads under changes',
    'kB/s',
    { 'One agent: bytes under changes': 'agent', 'One kube-proxy: bytes under changes': 'kube-proxy' },
  ],
  [
    'scale-agent-cpu',
    'CPU of one process under changes',
    '% of a core',
    { 'One agent: CPU under changes': 'agent', 'One kube-proxy: CPU under changes': 'kube-proxy' },
  ],
  [
    'scale-memory',
    'Memory of one process (RSS)',
    'MB',
    {
      'One agent: memory (RSS)': 'agent',
      'One kube-proxy: memory (RSS)': 'kube-proxy',
      'Leading controller: memory (RSS)': 'leading controller',
    },
  ],
  [
    'scale-times',
    'From a change to its effect, p99',
    'ms',
    {
      'EndpointSlice to rule, agent, p99': 'EndpointSlice to rule, agent',
      'EndpointSlice to rule, kube-proxy, p99': 'EndpointSlice to rule, kube-proxy',
      'Service to route, p99': 'Service to route',
    },
  ],
  [
    'scale-start',
    'A start of all agents at once',
    'each line in its unit',
    { 'Start of all agents: API server CPU': 'API server CPU, s', 'Start of all agents: bytes': 'MB' },
  ],
];

/** Writes the curves as SVG files into the folder. */
export function writeCharts(folder: string, results: readonly SizeResult[]): void {
  mkdirSync(folder, { recursive: true });
  for (const [file, title, unit, names] of charts) {
    const lines = Object.entries(names).map(([curve, name]) => {
      const found = curves.find((each) => each.name === curve);
      if (found === undefined) throw new Error(`there is no curve "${curve}"`);
      return { name, points: pointsOf(found, results) };
    });
    // A run with fewer agents than nodes has no figures of all agents.
    if (lines.every(({ points }) => points.length === 0)) continue;
    const drawn: Chart = { title, unit, lines };
    writeFileSync(join(folder, `${file}.svg`), chart(drawn));
  }
}
