import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { documents, type Manifest } from '../../../test/lab/host/objects.ts';
import { AgentsOnSegment, vip, vip6 } from '../../../test/lab/l2-agents/agents-on-segment.ts';
import { announcementManifests, nodeName, serviceManifests } from '../../../test/lab/l2-agents/manifests.ts';
import { until } from '../../../test/lab/until.ts';
import { processorTime, residentMemory } from '../../../test/bench/runner/process-figures.ts';
import { measureDecisions, type DecisionCost } from './decisions.ts';

/** Cost of one node in a cluster of so many nodes, all on one segment. */
export interface RosterCost extends DecisionCost {
  /** Milliseconds of processor time that an idle agent uses in a second, and its resident memory in MB. */
  readonly cpu: number;
  readonly memory: number;
  readonly load: number;
}

/** The measured node is a candidate of every address, so it has sessions with 31 others in clusters of any size. */
const preference = { weight: 1, preference: { matchLabels: { 'kubernetes.io/hostname': nodeName(0) } } };

export async function measureRoster(nodes: number, addresses: number, seconds: number): Promise<RosterCost> {
  const decisions = measureDecisions(nodes, addresses);
  const lab = await AgentsOnSegment.build({
    nodes: 1,
    idle: true,
    manifests: [...announcementManifests({ preferredNodeSelectors: [preference] }), ...serviceManifests({ pods: [0] })],
  });
  try {
    const controller = lab.startController();
    await lab.startAgent(0);
    await lab.watch.ask([vip, vip6]);
    await lab.untilOwner(0);
    await lab.watch.ask([]);
    await controller.stop();
    await lab.agent(0).stop();
    await addNodes(lab, nodes);
    const { pid } = await lab.startAgent(0);
    await sleep(10_000);
    const sessions = lab
      .agent(0)
      .lines()
      .filter((line) => line.includes('BFD runs')).length;
    if (sessions === 0) throw new Error('the agent watches no other candidate');
    const used = processorTime(pid);
    await sleep(1_000 * seconds);
    const cpu = (processorTime(pid) - used) / seconds;
    return { ...decisions, cpu, memory: residentMemory(pid), load: loadavg()[0] ?? Number.NaN };
  } finally {
    await lab.close();
  }
}

interface RecordedState {
  links: { linkAddress: string; addresses: string[] }[];
  problem?: unknown;
}

/** Adds nodes that exist only as objects: each has reported a link on the segment, and none answers. */
async function addNodes(lab: AgentsOnSegment, nodes: number): Promise<void> {
  const directory = join(lab.directory, '.herald/nodes');
  await mkdir(directory, { recursive: true });
  await until('the node has reported its links', async () => (await lab.report(0)).links !== undefined);
  const text = await readFile(join(directory, `${nodeName(0)}.yaml`), 'utf8');
  const addressOf = (at: number): string => `10.77.${100 + (at >> 8)}.${at & 255}`;
  const others = Array.from({ length: nodes - 1 }, (_, at) => at + 1);
  for (const at of others) {
    const report = parse(text) as { metadata: { name: string }; status: RecordedState };
    report.metadata.name = nodeName(at);
    delete report.status.problem;
    report.status.links = report.status.links.map((link) => ({
      ...link,
      linkAddress: `02:00:00:01:${hex(at >> 8)}:${hex(at & 255)}`,
      addresses: [addressOf(at)],
    }));
    await writeFile(join(directory, `${nodeName(at)}.yaml`), stringify(report));
  }
  const nodeOf = (at: number): Manifest => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: nodeName(at) },
    spec: { podCIDRs: [`10.${100 + (at >> 8)}.${at & 255}.0/24`] },
    status: { addresses: [{ type: 'InternalIP', address: addressOf(at) }] },
  });
  await lab.write('30-nodes.yaml', documents(...others.map(nodeOf)));
}

const hex = (value: number): string => value.toString(16).padStart(2, '0');
