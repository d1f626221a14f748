import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { programPath } from '../../conformance/programs.ts';
import { OneNode } from '../../lab/dataplane/one-node.ts';
import { measureAgent, type AgentMemory } from './agent-memory.ts';
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
const parts = new Set((values.only ?? (values.quick ? 'load,connections,kube-proxy' : 'load,connections,kube-proxy,agent')).split(','));
/** The nft command is the fallback and is slow with many Services. */
const maximumByCommand = 10_000;
/** Turns of each stand in one round. */
const connectionRounds = 5;

const loads: Figures[] = [];
const connections: ConnectionRound[] = [];
const kubeProxy: KubeProxyFigures[] = [];
let agent: AgentMemory | undefined;
const note = (text: string): void => void process.stderr.write(`${text}\n`);

/** Runs in a separate process and network namespace. */
function load(executor: string, services: number): Figures {
  const namespace = `hn-bench-${process.pid}`;
  execFileSync('ip', ['netns', 'add', namespace]);
  try {
    const program = join(import.meta.dirname, 'measure.ts');
    const changes = executor === 'netlink' ? '300' : '20';
    const words = ['netns', 'exec', namespace, process.execPath, program, executor, String(services), changes];
    const output = execFileSync('ip', words, { encoding: 'utf8' });
    return JSON.parse(output) as Figures;
  } finally {
    execFileSync('ip', ['netns', 'del', namespace]);
  }
}

try {
  programPath('kube-proxy');
} catch (error) {
  if (parts.delete('kube-proxy')) note(`without kube-proxy: ${String(error)}`);
}
for (let round = 1; round <= rounds; round++) {
  for (const size of parts.has('load') ? sizes : []) {
    for (const executor of ['netlink', ...(size <= maximumByCommand ? ['nft command'] : [])]) {
      const figures = load(executor, size);
      loads.push(figures);
      note(`round ${round}: ${executor}, ${size}: ${figures.load.toFixed(0)} ms`);
    }
  }
  for (const services of parts.has('kube-proxy') ? kubeProxySizes : []) {
    const figures = await measureKubeProxy({ services, changes: 5 });
    kubeProxy.push(figures);
    note(`round ${round}: kube-proxy, ${services}: ${figures.load.toFixed(0)} ms`);
  }
}

/** The stands exist at the same time and take turns, so that other load of the machine affects all alike. */
const stands: Stand[] = [];
async function addStand(by: Forwarder, services: number): Promise<void> {
  stands.push(await Stand.start(by, services));
  note(`${by}, ${services}: ready`);
}
if (parts.has('connections')) {
  for (const size of [0, 1, ...sizes]) await addStand(size === 0 ? 'nobody' : 'Herald', size);
  for (const size of parts.has('kube-proxy') ? kubeProxySizes : []) await addStand('kube-proxy', size);
}
for (let turn = 1; turn <= rounds * connectionRounds; turn++) for (const stand of stands) connections.push(await stand.connect());
for (const stand of stands) await stand.stop();

if (parts.has('agent')) {
  const lab = await OneNode.start();
  try {
    agent = await measureAgent(values.quick ? 1_000 : 10_000);
  } finally {
    lab.stop();
  }
}

const results = { rounds, loads, connections, kubeProxy, agent };
process.stdout.write(values.json ? `${JSON.stringify(results, undefined, 1)}\n` : report(results));
process.exit();
