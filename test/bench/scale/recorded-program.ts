/**
 * Plays many agents at the API server: `node recorded-program.ts '{"server":..., ...}'`. The benchmark calls its methods. The first agent
 * parses what it reads as a real one does; all of them report the versions that it has seen.
 */
import process from 'node:process';
import { PendingWork } from '../../../src/agent/reconcile/pending-work.ts';
import type { ReportContent } from '../../../src/agent/report/write-urgency.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import type { Connection } from '../../../src/kube/client/connection.ts';
import { KubernetesSource } from '../../../src/sources/kubernetes/kubernetes-source.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { silentLog } from '../../../src/system/log.ts';
import { systemRandom } from '../../../src/system/random.ts';
import type { Credentials } from '../../conformance/cluster.ts';
import { answerCalls } from '../runner/caller.ts';
import { nodeName, podName, timeNow } from './addresses.ts';
import { namespace, podUid } from './objects.ts';
import { RecordedAgent } from './recorded/recorded-agent.ts';

const { server, certificateAuthority: ca, token, userAgent } = JSON.parse(process.argv[2] ?? '') as Credentials & { userAgent: string };
const connection: Connection = {
  server: new URL(server),
  credentials: async () => ({ ca, authorization: `Bearer ${token}` }),
  expired: () => undefined,
};
/** An agent passes over changes this long after the first of them. */
const passMilliseconds = 50;

const agents = new Map<number, RecordedAgent>();
const events = new Map<string, number>();
let consumed: Readonly<Record<string, string>> = {};
let nodes = 0;

answerCalls({ follow, start, restart, stop, figures: () => ({ agents: agents.size, events: Object.fromEntries(events) }) });

const content = (): ReportContent => ({ sessions: [], differing: [], consumed });

/** Reads the objects once as an agent does, and from then on follows which versions an agent acknowledges. */
async function follow(first: number): Promise<void> {
  const client = new KubeClient(connection, { clock: systemClock, userAgent: 'load' });
  const node = nodeName(first);
  const source = new KubernetesSource({ client, clock: systemClock, random: systemRandom, log: silentLog }, { node });
  await source.start();
  const work = new PendingWork(node);
  let pass: NodeJS.Timeout | undefined;
  const done = (): void => {
    pass = undefined;
    work.markDone(work.take());
    consumed = work.consumed;
    for (const agent of agents.values()) agent.changed();
  };
  work.addAll(source.snapshot);
  done();
  source.onChange((changes) => {
    work.addChanges(changes, source.snapshot);
    if (!work.isEmpty) pass ??= setTimeout(done, passMilliseconds);
  });
}

/** Starts the agents of these nodes, `atOnce` at a time. Resolves with the seconds that each took to read everything. */
async function start(ofNodes: number, from: number, to: number, atOnce: number): Promise<number[]> {
  nodes = ofNodes;
  return inTurn(
    Array.from({ length: to - from }, (_, index) => from + index),
    atOnce,
    startOne,
  );
}

async function startOne(index: number): Promise<void> {
  const pod = { namespace, name: podName(index), uid: podUid(index) };
  const agent = new RecordedAgent({ node: nodeName(index), nodes, pod, connection, userAgent, content, events });
  agents.set(index, agent);
  await agent.start();
}

/** Restarts every agent as a rolling update does, `atOnce` at a time. Resolves with the seconds of each. */
async function restart(atOnce: number): Promise<number[]> {
  return inTurn([...agents.keys()], atOnce, async (index) => {
    await agents.get(index)?.stop();
    await startOne(index);
  });
}

async function stop(): Promise<void> {
  await Promise.all([...agents.values()].map((agent) => agent.stop()));
  agents.clear();
}

async function inTurn(indexes: readonly number[], atOnce: number, work: (index: number) => Promise<void>): Promise<number[]> {
  const left = indexes.values();
  const seconds: number[] = [];
  const worker = async (): Promise<void> => {
    for (const index of left) {
      const began = timeNow();
      await work(index);
      seconds.push((timeNow() - began) / 1000);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return seconds;
}
