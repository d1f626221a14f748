import { median } from '../runner/statistics.ts';
import { conditionLines, type Conditions } from '../runner/conditions.ts';
import type { AgentStart } from './agent-start.ts';
import type { ConnectTimes } from './client.ts';
import type { ConnectionRound } from './connections.ts';
import type { KubeProxyFigures } from './kube-proxy.ts';
import type { Figures } from './measure.ts';

export interface Results {
  readonly conditions: Conditions;
  readonly rounds: number;
  readonly loads: readonly Figures[];
  readonly connections: readonly ConnectionRound[];
  readonly kubeProxy: readonly KubeProxyFigures[];
  readonly agents: readonly AgentStart[];
}

/** `failed`: a line for each row that could not be measured. */
export function report(results: Results, failed: readonly string[]): string {
  return [
    conditionLines(results.conditions),
    `${results.rounds} ${results.rounds === 1 ? 'round' : 'rounds'}; minimum / median.`,
    ...failed,
    '',
    ...(results.loads.length === 0 ? [] : loadTable(results.loads)),
    ...(results.kubeProxy.length === 0 ? [] : ['', ...kubeProxyTable(results.kubeProxy)]),
    ...(results.connections.length === 0 ? [] : ['', ...connectionTable(results.connections)]),
    ...(results.agents.length === 0 ? [] : ['', ...agentTable(results.agents)]),
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
    const [first] = runs;
    return row([
      `${first?.services}`,
      `${first?.endpoints}`,
      both(({ load }) => load),
      both(({ change }) => change),
      both(({ memory }) => memory),
      both(({ peakMemory }) => peakMemory),
    ]);
  });
  return [
    '| Services | endpoints | kube-proxy: load, ms | change, ms | memory, MB | peak, MB |',
    '|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ];
}

/** Shows the median of the rounds, and its ratio to the median with one Service. */
function connectionTable(all: readonly ConnectionRound[]): string[] {
  const middle = (runs: readonly ConnectionRound[], of: (run: ConnectionRound) => number | undefined): number =>
    median(runs.flatMap((run) => of(run) ?? []));
  const one = all.filter(({ by, services }) => by === 'Herald' && services === 1);
  const rows = groups(all, ({ by, services }) => `${by} ${services}`).map((runs) => {
    const cell = (times: (run: ConnectionRound) => ConnectTimes | undefined): string => {
      if (runs.every((run) => times(run) === undefined)) return '';
      const mine = middle(runs, (run) => times(run)?.median);
      const ratio = mine / middle(one, (run) => times(run)?.median);
      const p99 = middle(runs, (run) => times(run)?.p99);
      const perSecond = middle(runs, (run) => times(run)?.perSecond);
      return `${mine.toFixed(1)} (${ratio.toFixed(2)}) / ${p99.toFixed(0)} / ${perSecond.toFixed(0)}`;
    };
    const [first] = runs;
    return row([
      first?.by === 'nobody' ? 'no rules' : `${first?.by}`,
      first?.by === 'nobody' ? '' : `${first?.services}`,
      cell(({ pod }) => pod),
      cell(({ clusterIP }) => clusterIP),
      cell(({ external }) => external),
    ]);
  });
  return [
    'Connections, one after the other: median in µs (of that with one Service) / 99th percentile / in a second.',
    '',
    '| by | Services | to the pod | ClusterIP | load balancer address |',
    '|---|---:|---:|---:|---:|',
    ...rows,
  ];
}

function agentTable(all: readonly AgentStart[]): string[] {
  const rows = all.map((run) =>
    row([
      `${run.services}`,
      `${run.endpoints}`,
      run.source,
      run.processor.toFixed(1),
      (run.longestTurn * 1000).toFixed(0),
      ...[run.peak, run.started, run.atRest].map((value) => value.toFixed(0)),
      run.processorAtRest.toFixed(2),
    ]),
  );
  return [
    '| Services | endpoints | a whole agent over a | start, s of CPU | longest turn, ms of CPU | peak, MB | started, MB | at rest, MB | % of a core |',
    '|---:|---:|---|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ];
}

function groups<T>(all: readonly T[], key: (one: T) => string): T[][] {
  return [...Map.groupBy(all, key).values()];
}

function minimumAndMedian(values: readonly number[], digits: number): string {
  const [least, middle] = [Math.min(...values), median(values)].map((value) => value.toFixed(digits));
  return least === middle ? `${least}` : `${least} / ${middle}`;
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
