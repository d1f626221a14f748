import { curves, pointsOf } from './curves.ts';
import type { Results, SizeResult, Times } from './results.ts';
import { everyAgentWatches } from './size.ts';

/** For people: a table of each size, of requests by program and verb, and of the curves. */
export function printReport({ sizes, exponents, notes, changesPerSecond }: Results): void {
  for (const result of sizes) {
    const { nodes, services, endpoints, realAgents, recordedAgents, kubeProxyStart } = result;
    console.log(
      `\n${nodes} nodes, ${services} Services, ${endpoints} endpoints; ${realAgents} real agents, ${recordedAgents} recorded ones, ${kubeProxyStart === undefined ? 'no' : 1} kube-proxy; ${changesPerSecond} changes/s asked for`,
    );
    if (!everyAgentWatches(result))
      console.log(
        `Only ${realAgents + recordedAgents} of ${nodes} nodes had an agent that watched. The cost of all agents together was not measured and is left out of the curves.`,
      );
    console.table(phases(result));
    console.table(clientRows(result));
    console.table(requestRows(result));
    console.table(eventRows(result));
    for (const { request, real, recorded } of result.deviations)
      console.log(`Real and recorded agents differ: ${request}: ${real} and ${recorded}`);
  }
  const rows = curves.flatMap((curve) => {
    const values = pointsOf(curve, sizes).map(([nodes, value]) => [`${nodes} nodes`, rounded(value)] as const);
    return values.length === 0
      ? []
      : [[curve.name, { unit: curve.unit, ...Object.fromEntries(values), exponent: exponents[curve.name] }] as const];
  });
  console.table(Object.fromEntries(rows));
  for (const note of notes) console.log(note);
}

function phases({ without, rest, churn, newServices }: SizeResult): object {
  const row = ({ apiServerCpuPercent, etcdCpuPercent, apiServerRssMegabytes, throttled }: typeof rest, changes: number): object => ({
    'changes/s': rounded(changes),
    'API server CPU %': rounded(apiServerCpuPercent),
    'API server MB': rounded(apiServerRssMegabytes),
    'etcd CPU %': rounded(etcdCpuPercent),
    'answers 429': throttled,
  });
  return {
    'changes, without Herald': row(without, without.changesPerSecond),
    'with Herald, at rest': row(rest, 0),
    'with Herald, changes': row(churn, churn.changesPerSecond),
    'with Herald, changes and new Services': row(newServices, churn.changesPerSecond),
  };
}

function clientRows({ rest, churn }: SizeResult): object {
  return Object.fromEntries(
    Object.entries(churn.clients).map(([name, figures]) => [
      name,
      {
        processes: figures.processes,
        'kB/s received': rounded(figures.bytesReceivedPerSecond / 1000),
        'kB/s sent': rounded(figures.bytesSentPerSecond / 1000),
        'events/s': figures.eventsPerSecond === undefined ? '' : rounded(figures.eventsPerSecond),
        'CPU % at rest': rounded(rest.clients[name]?.cpuPercent ?? Number.NaN),
        'CPU %': rounded(figures.cpuPercent),
        'RSS MB': rounded(figures.rssMegabytes),
      },
    ]),
  );
}

function requestRows({ rest, churn, newServices }: SizeResult): object {
  const keys = [...new Set([rest, churn, newServices].flatMap(({ requestsPerSecond }) => Object.keys(requestsPerSecond)))].toSorted();
  return Object.fromEntries(
    keys.map((key) => [
      key,
      {
        'requests/s at rest': rounded(rest.requestsPerSecond[key] ?? 0),
        'requests/s, changes': rounded(churn.requestsPerSecond[key] ?? 0),
        'requests/s, new Services': rounded(newServices.requestsPerSecond[key] ?? 0),
      },
    ]),
  );
}

function eventRows(result: SizeResult): object {
  const { start, churn, newServices, apiServerRestart, leaderChange, rollingUpdate, kubeProxyStart } = result;
  const agents = everyAgentWatches(result) ? 'all agents' : `${result.realAgents + result.recordedAgents} agents`;
  const times = ({ p50, p99, count }: Times): string => `p50 ${p50} ms, p99 ${p99} ms (${count})`;
  const seconds = ({ p50, p99 }: Times): string => `p50 ${rounded(p50)} s, p99 ${rounded(p99)} s`;
  return {
    ...Object.fromEntries(
      Object.entries(churn.sliceToRule).map(([name, found]) => [
        `EndpointSlice to rule, ${name}`,
        `${times(found)} of ${churn.changesMade}`,
      ]),
    ),
    'Service to route': `${times(newServices.serviceToRoute)} of ${newServices.servicesMade}`,
    [`start of ${agents} at once`]: `${rounded(start.seconds)} s, each ${seconds(start.agentSeconds)}; API server ${rounded(start.apiServerCpuSeconds)} s CPU, ${rounded(start.megabytes)} MB, ${start.throttled} answers 429; a real agent ${rounded(start.realAgentSeconds)} s, ${rounded(start.realAgentCpuSeconds)} s CPU, peak ${rounded(start.agentPeakMegabytes)} MB`,
    ...(kubeProxyStart === undefined
      ? {}
      : {
          'kube-proxy started': `its first rules are in the kernel after ${rounded(kubeProxyStart.seconds)} s, ${rounded(kubeProxyStart.cpuSeconds)} s CPU, peak ${rounded(kubeProxyStart.peakMegabytes)} MB`,
        }),
    ...(apiServerRestart === undefined
      ? {}
      : {
          'API server killed and started': `away ${rounded(apiServerRestart.downSeconds)} s; all watches open ${rounded(apiServerRestart.watchesOpenAfterSeconds)} s later, over ${rounded(apiServerRestart.spreadSeconds)} s, at most ${apiServerRestart.peakRequestsPerSecond} requests in a second; ${apiServerRestart.resumed} resumed, ${apiServerRestart.relisted} read again, ${apiServerRestart.throttled} answers 429`,
        }),
    ...(leaderChange === undefined
      ? {}
      : { 'leader killed': `the next Service has its address after ${rounded(leaderChange.secondsToAddress)} s` }),
    ...(rollingUpdate === undefined
      ? {}
      : {
          [`rolling update of ${agents}`]: `${rounded(rollingUpdate.seconds)} s, ${rollingUpdate.atOnce} at a time, each ${seconds(rollingUpdate.agentSeconds)}; API server ${rounded(rollingUpdate.apiServerCpuSeconds)} s CPU, ${rounded(rollingUpdate.megabytes)} MB, ${rollingUpdate.nodeStateWrites} writes of NodeStates`,
        }),
  };
}

const rounded = (value: number): number => Number(value.toPrecision(3));
