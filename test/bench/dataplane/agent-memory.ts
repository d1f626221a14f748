import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killedWithParent, foreground } from '../../conformance/foreground.ts';
import { namespaceOf } from '../../lab/dataplane/one-node.ts';
import { inNamespace } from '../../lab/namespace.ts';
import type { ApiObject } from '../../kube-fixture/object.ts';
import { until } from '../../lab/until.ts';
import { residentMemory } from '../runner/process-figures.ts';
import { nodeObject, serviceObject, sliceObject } from './services.ts';

/** Resident memory of a whole agent, in megabytes of 10^6 octets. */
export interface AgentMemory {
  readonly services: number;
  readonly endpoints: number;
  /** After it has read its directory and loaded the kernel. */
  readonly started: number;
  /** After garbage collection, which V8 does after a few minutes of rest. */
  readonly atRest: number;
}

const filesOf = 400;
const restMilliseconds = 240_000;

/** Measures `herald agent --source DIR` with Services of ten endpoints each. */
export async function measureAgent(services: number): Promise<AgentMemory> {
  const directory = mkdtempSync(join(tmpdir(), 'herald-bench-'));
  const items = Array.from({ length: services }, (_, index) => [serviceObject(index), sliceObject(index, 0, 10)]).flat();
  const write = (name: string, objects: readonly ApiObject[]): void =>
    writeFileSync(join(directory, `${name}.yaml`), objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  write('node', [nodeObject]);
  for (let file = 0; file * filesOf < items.length; file++) write(`services-${file}`, items.slice(file * filesOf, (file + 1) * filesOf));
  const herald = join(import.meta.dirname, '../../../bin/herald');
  const command = [herald, 'agent', '--node', 'node1', '--source', directory, '--kernel-settings', 'report'];
  const agent = foreground(inNamespace(namespaceOf('node'), killedWithParent(command)), join(directory, 'agent.log'));
  try {
    await until('the agent has started', () => agent.lines().some((line) => line.includes('agent started')), 300_000);
    const started = residentMemory(agent.pid);
    let atRest = started;
    for (const end = performance.now() + restMilliseconds; performance.now() < end;) {
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      atRest = Math.min(atRest, residentMemory(agent.pid));
    }
    return { services, endpoints: services * 10 - 9, started, atRest };
  } finally {
    agent.kill('SIGTERM');
    await agent.exited;
    rmSync(directory, { recursive: true });
  }
}
