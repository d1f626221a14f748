import { cpus, loadavg, release } from 'node:os';
import { median } from '../bgp/statistics.ts';
import type { AgentMemory } from './agent-memory.ts';
import type { ConnectTimes } from './client.ts';
import type { Connections, KubeProxyFigures } from './connections.ts';
import type { Figures } from './measure.ts';

export interface Results {
  readonly rounds: number;
  readonly loads: readonly Figures[];
  readonly connections: readonly Connections[];
  readonly kubeProxy: readonly KubeProxyFigures[];
  readonly agent: AgentMemory | undefined;
}

export function report(results: Results): string {
  const load = loadavg().map((each) => each.toFixed(1));
  return [
    `${new Date().toISOString().slice(0, 10)}. ${cpus().length} processors ${cpus()[0]?.model ?? ''}, Linux ${release()}, Node.js ${process.versions.node}.`,
    `Load average at the end: ${load.join(', ')}. ${results.rounds} ${results.rounds === 1 ? 'round' : 'rounds'}; minimum / median.`,
    '',
    ...loadTable(results.loads),
    ...(results.kubeProxy.length === 0 ? [] : ['', ...kubeProxyTable(results.kubeProxy)]),
    ...(results.connections.length === 0 ? [] : ['', ...connectionTable(results)]),
    ...(results.agent === undefined ? [] : ['', agentLine(results.agent)]),
    '',
  ].join('\n');
}

function loadTable(all: readonly Figures[]): string[] {
  const rows = groups(all, ({ services, executor }) => `${services} ${executor}`).map((runs) => {
    const [first] = runs;
    const both = (figure: (run: Figures) => number, digits = 0): string => minimumAndMedian(runs.map(figure), digits);
    return row([
      `${first?.services}`,
      `${first?.endpoints}`,
      `${first?.executor}`,
      both(({ decide }) => decide),
      both((run) => run.load),
      both(({ stall }) => stall),
      both(({ adopt }) => adopt),
      ...(['change', 'add', 'remove'] as const).map(
        (step) => `${both((run) => run[step].total, 2)} (${both((run) => run[step].transaction, 2)})`,
      ),
      both(({ kernelMemory }) => kernelMemory),
      both(({ memory }) => memory),
    ]);
  });
  return [
    '| Services | endpoints | by | decide, ms | load, ms | stall, ms | adopt, ms | change, ms (transaction) | add | remove | kernel, MB | process, MB |',
    '|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ];
}

function kubeProxyTable(all: readonly KubeProxyFigures[]): string[] {
  const rows = groups(all, ({ services }) => `${services}`).map((runs) => {
    const both = (figure: (run: KubeProxyFigures) => number): string => minimumAndMedian(runs.map(figure), 0);
    return row([`${runs[0]?.services}`, both(({ load }) => load), both(({ change }) => change), both(({ memory }) => memory)]);
  });
  return ['| Services | kube-proxy: load, ms | change one endpoint, ms | memory, MB |', '|---:|---:|---:|---:|', ...rows];
}

function connectionTable({ connections, kubeProxy }: Results): string[] {
  const all = [...connections, ...kubeProxy.map((each) => each.connections)];
  const rows = groups(all, ({ by, services }) => `${by} ${services}`).map((runs) => {
    const cell = (times: (run: Connections) => ConnectTimes | undefined): string => {
      const known = runs.flatMap((run) => times(run) ?? []);
      if (known.length === 0) return '';
      const of = (figure: (each: ConnectTimes) => number): string => median(known.map(figure)).toFixed(0);
      return `${of((each) => each.median)} / ${of(({ p99 }) => p99)} (${of(({ perSecond }) => perSecond)})`;
    };
    const [first] = runs;
    return row([
      first?.by ?? 'no rules',
      first?.by === undefined ? '' : `${first.services}`,
      cell(({ pod }) => pod),
      cell(({ clusterIP }) => clusterIP),
      cell(({ external }) => external),
    ]);
  });
  return ['| by | Services | to the pod, µs | ClusterIP, µs | load balancer address, µs |', '|---|---:|---:|---:|---:|', ...rows];
}

function agentLine({ services, endpoints, started, atRest }: AgentMemory): string {
  return `A whole agent over a directory with ${services} Services and ${endpoints} endpoints: ${started.toFixed(0)} MB when it has started, ${atRest.toFixed(0)} MB at rest.`;
}

function groups<T>(all: readonly T[], key: (one: T) => string): T[][] {
  return [...Map.groupBy(all, key).values()];
}

function minimumAndMedian(values: readonly number[], digits: number): string {
  const [least, middle] = [Math.min(...values), median(values)].map((value) => value.toFixed(digits));
  return least === middle ? `${least}` : `${least} / ${middle}`;
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
