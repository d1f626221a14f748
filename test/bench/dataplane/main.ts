import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { programPath } from '../../conformance/programs.ts';
import { OneNode } from '../../lab/dataplane/one-node.ts';
import { endTogether } from '../../lab/ends-together.ts';
import { Attempts } from '../runner/attempts.ts';
import { conditions } from '../runner/conditions.ts';
import { versionOf } from '../runner/versions.ts';
import { agentSources, measureAgent, type AgentStart } from './agent-start.ts';
import { Stand, type ConnectionRound } from './connections.ts';
import type { Figures } from './measure.ts';
import { measureKubeProxy, type KubeProxyFigures } from './kube-proxy.ts';
import { report } from './report.ts';
import type { Forwarder } from './stand.ts';

const help = `npm run bench:dataplane -- [options]

  Loads Services into an empty kernel, changes them one by one, and finds them again; connects through them; beside kube-proxy
  (nftables mode) where scripts/setup-conformance.sh has built it. Needs root.

  --quick           one round with 1,000 Services, without the agent (its memory takes minutes to settle)
  --rounds N        number of rounds (default 3)
  --sizes N,...     numbers of Services (default 1000,10000,50000)
  --only PART,...   load, connections, kube-proxy, agent (default all)
  --agent N,...     sizes for a whole agent (default 10000,50000), each from a directory and from an API server
  --kube-proxy N,...  sizes for kube-proxy (default 1000,10000); 50000 takes many minutes
  --json            for machines`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    sizes: { type: 'string' },
    only: { type: 'string' },
    agent: { type: 'string' },
    'kube-proxy': { type: 'string' },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}
const numbers = (text: string): number[] => text.split(',').map(Number);
const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
const sizes = numbers(values.sizes ?? (values.quick ? '1000' : '1000,10000,50000'));
const kubeProxySizes = numbers(values['kube-proxy'] ?? (values.quick ? '1000' : '1000,10000'));
const agentSizes = numbers(values.agent ?? '10000,50000');
const parts = new Set((values.only ?? (values.quick ? 'load,connections,kube-proxy' : 'load,connections,kube-proxy,agent')).split(','));
/** The nft command, for comparison, is slow with many Services. */
const maximumByCommand = 10_000;
/** Turns of each stand in one round. */
const connectionRounds = 5;

const loads: Figures[] = [];
const connections: ConnectionRound[] = [];
const kubeProxy: KubeProxyFigures[] = [];
const agents: AgentStart[] = [];
/** V8 collects what a start leaves behind after a few minutes. */
const restSeconds = 240;
const note = (text: string): void => void process.stderr.write(`${text}\n`);
const attempts = new Attempts(note);
const run = promisify(execFile);
endTogether();

/** Runs in a separate process and network namespace. */
async function load(executor: string, services: number): Promise<Figures> {
  const namespace = `hn-bench-${process.pid}`;
  execFileSync('ip', ['netns', 'add', namespace]);
  try {
    const program = join(import.meta.dirname, 'measure.ts');
    const changes = executor === 'netlink' ? '300' : '20';
    const words = ['netns', 'exec', namespace, process.execPath, program, executor, String(services), changes];
    return JSON.parse((await run('ip', words)).stdout) as Figures;
  } finally {
    execFileSync('ip', ['netns', 'del', namespace]);
  }
}

let kubeProxyProgram: string | undefined;
if (parts.has('kube-proxy')) kubeProxyProgram = await attempts.row('kube-proxy', () => programPath('kube-proxy'));
if (kubeProxyProgram === undefined) parts.delete('kube-proxy');
for (let round = 1; round <= rounds; round++) {
  for (const size of parts.has('load') ? sizes : []) {
    for (const executor of ['netlink', ...(size <= maximumByCommand ? ['nft command'] : [])]) {
      const figures = await attempts.row(`Herald by ${executor}, ${size} Services`, () => load(executor, size));
      if (figures === undefined) continue;
      loads.push(figures);
      note(`round ${round}: ${executor}, ${size}: ${figures.load.toFixed(0)} ms`);
    }
  }
  for (const services of parts.has('kube-proxy') ? kubeProxySizes : []) {
    const figures = await attempts.row(`kube-proxy, ${services} Services`, () => measureKubeProxy({ services, changes: 5 }));
    if (figures === undefined) continue;
    kubeProxy.push(figures);
    note(`round ${round}: kube-proxy, ${services}: ${figures.load.toFixed(0)} ms`);
  }
}

/** The stands exist at the same time and take turns, so that other load of the machine affects all alike. */
const stands = new Set<Stand>();
async function addStand(by: Forwarder, services: number): Promise<void> {
  const stand = await attempts.row(`${by}, connections, ${services} Services`, () => Stand.start(by, services));
  if (stand === undefined) return;
  stands.add(stand);
  note(`${by}, ${services}: ready`);
}
if (parts.has('connections')) {
  for (const size of [0, 1, ...sizes]) await addStand(size === 0 ? 'nobody' : 'Herald', size);
  for (const size of parts.has('kube-proxy') ? kubeProxySizes : []) await addStand('kube-proxy', size);
}
for (let turn = 1; turn <= rounds * connectionRounds; turn++) {
  for (const stand of stands) {
    const measured = await attempts.row(`${stand.by}, connections, ${stand.services} Services`, () => stand.connect());
    if (measured !== undefined) connections.push(measured);
    else stands.delete(stand);
  }
}
for (const stand of stands) await stand.stop();

if (parts.has('agent')) {
  const lab = await OneNode.start();
  try {
    for (const services of agentSizes) {
      for (const source of agentSources) {
        const measured = await attempts.row(`Herald agent, ${services} Services, ${source}`, () =>
          measureAgent(source, services, restSeconds),
        );
        if (measured === undefined) continue;
        agents.push(measured);
        note(`agent, ${services}, ${source}: ${measured.processor.toFixed(1)} s of processor time`);
      }
    }
  } finally {
    lab.stop();
  }
}

const versions = {
  nft: versionOf(['nft', '--version']),
  ...(kubeProxyProgram === undefined ? {} : { 'kube-proxy': versionOf([kubeProxyProgram, '--version']) }),
};
const results = { conditions: conditions(versions), rounds, loads, connections, kubeProxy, agents, failed: attempts.failed };
process.stdout.write(values.json ? `${JSON.stringify(results, undefined, 1)}\n` : report(results, attempts.lines()));
process.exit(attempts.status);
