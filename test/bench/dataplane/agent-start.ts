import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killedWithParent, foreground } from '../../conformance/foreground.ts';
import { FixtureApiServer } from '../../kube-fixture/api-server.ts';
import type { ApiObject } from '../../kube-fixture/object.ts';
import { namespaceOf } from '../../lab/dataplane/one-node.ts';
import { inNamespace } from '../../lab/namespace.ts';
import { until } from '../../lab/until.ts';
import { peakMemory, processorSeconds, residentMemory } from '../runner/process-figures.ts';
import { nodeObject, serviceObject, sliceObject } from './services.ts';

export const agentSources = ['directory', 'API server'] as const;
export type AgentSource = (typeof agentSources)[number];

/** A whole agent. Memory is resident, in megabytes of 10^6 octets; times are seconds of processor time. */
export interface AgentStart {
  readonly source: AgentSource;
  readonly services: number;
  readonly endpoints: number;
  /** Until it has read its objects and loaded the kernel: of the whole process, and the longest turn of the event loop. */
  readonly processor: number;
  readonly longestTurn: number;
  readonly peak: number;
  readonly started: number;
  /** After garbage collection, which V8 does after a few minutes of rest. */
  readonly atRest: number;
  /** The part of a core, in percent, that it used in the second half of the rest. */
  readonly processorAtRest: number;
}

const endpointsEach = 6;
const filesOf = 400;

/** Measures `herald agent` with Services of six endpoints each. */
export async function measureAgent(source: AgentSource, services: number, restSeconds: number): Promise<AgentStart> {
  const folder = mkdtempSync(join(tmpdir(), 'herald-bench-'));
  const items = Array.from({ length: services }, (_, index) => [serviceObject(index), sliceObject(index, 0, endpointsEach)]).flat();
  const api = source === 'API server' ? await FixtureApiServer.start(namespaceOf('node')) : undefined;
  const turns = join(folder, 'longest-turn');
  const herald = join(import.meta.dirname, '../../../bin/herald');
  const meter = `NODE_OPTIONS=--import=${join(import.meta.dirname, 'turn-meter.mjs')}`;
  const from = api === undefined ? ['--source', writeDirectory(folder, items)] : ['--kubeconfig', writeKubeconfig(folder, api.url)];
  const flags = ['--node', 'node1', ...from, '--kernel-settings', 'report', '--socket', join(folder, 'socket')];
  const command = ['env', meter, `TURN_METER_FILE=${turns}`, herald, 'agent', ...flags];
  api?.put(nodeObject, ...items);
  const agent = foreground(inNamespace(namespaceOf('node'), killedWithParent(command)), join(folder, 'agent.log'));
  try {
    await until('the agent has started', () => agent.lines().some((line) => line.includes('agent started')), 600_000);
    const [processor, started] = [processorSeconds(agent.pid), residentMemory(agent.pid)];
    // The meter writes once a second.
    await pause(2_000);
    const longestTurn = Number(readFileSync(turns, 'utf8'));
    const peak = peakMemory(agent.pid);
    let atRest = started;
    let since = { at: performance.now(), processor: processorSeconds(agent.pid) };
    const end = since.at + restSeconds * 1_000;
    const middle = (since.at + end) / 2;
    while (performance.now() < end) {
      await pause(2_000);
      atRest = Math.min(atRest, residentMemory(agent.pid));
      if (since.at < middle && performance.now() >= middle) since = { at: performance.now(), processor: processorSeconds(agent.pid) };
    }
    const processorAtRest = (100_000 * (processorSeconds(agent.pid) - since.processor)) / (performance.now() - since.at);
    const endpoints = (services - 1) * endpointsEach + 1;
    return { source, services, endpoints, processor, longestTurn, peak, started, atRest, processorAtRest };
  } finally {
    agent.kill('SIGTERM');
    await agent.exited;
    await api?.stop();
    rmSync(folder, { recursive: true });
  }
}

function writeDirectory(folder: string, items: readonly ApiObject[]): string {
  const write = (name: string, objects: readonly ApiObject[]): void =>
    writeFileSync(join(folder, `${name}.yaml`), objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  write('node', [nodeObject]);
  for (let file = 0; file * filesOf < items.length; file++) write(`services-${file}`, items.slice(file * filesOf, (file + 1) * filesOf));
  return folder;
}

function writeKubeconfig(folder: string, server: string): string {
  const path = join(folder, 'kubeconfig');
  const named = {
    clusters: [{ name: 'bench', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'bench', user: {} }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
  };
  writeFileSync(path, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...named, 'current-context': 'bench' }));
  return path;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}
