/**
 * Measures what `herald status --watch` and `herald peers --watch` cost beside many agents: requests to the API server and to each agent,
 * and the processor time of the command, of the API server and of an agent. The API server is a real one; one process answers for all
 * agents. `node test/bench/watch/main.ts [--json] [AGENTS [SECONDS]]`
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { KubernetesCluster } from '../../conformance/cluster.ts';
import { foreground } from '../../conformance/foreground.ts';
import { apply, definition, shipped } from '../../conformance/manifests.ts';
import { endTogether } from '../../lab/ends-together.ts';
import type { LabProcess } from '../../lab/lab-process.ts';
import { inNamespace, ip, prepareNamespace } from '../../lab/namespace.ts';
import { until } from '../../lab/until.ts';
import { conditionLines, conditions } from '../runner/conditions.ts';
import { programs } from '../runner/versions.ts';
import { samplesOf } from '../../unit/telemetry/scrape.ts';
import { objectsFor } from './objects.ts';

const { values, positionals } = parseArgs({ options: { json: { type: 'boolean', default: false } }, allowPositionals: true });
const [agents = 200, seconds = 60] = positionals.map(Number);
const namespace = `hl-ku-${process.pid}-watch`;
const address = '192.0.2.10';
const firstPort = 20_000;
const interval = 5;
const program = join(import.meta.dirname, '../../../bin/herald');
/** Units of /proc/PID/stat on Linux. */
const ticksPerSecond = 100;
const kinds = ['IPAddressPool', 'BGPPeer', 'BGPAdvertisement', 'BFDProfile', 'Community', 'ExternalIPPolicy', 'HeraldConfig', 'NodeState'];

endTogether();
// Children of the cluster do not keep this process alive.
const alive = setInterval(() => undefined, 1000);
const started: LabProcess[] = [];
let cluster: KubernetesCluster | undefined;
try {
  await ip([`netns add ${namespace}`]);
  await prepareNamespace(namespace, true);
  const links = ['link add eth0 type veth peer name other', 'link set other up', `addr add ${address}/24 dev eth0`];
  await ip([...links, 'link set eth0 up', 'route add default dev eth0'], namespace);
  cluster = await KubernetesCluster.start({ inside: { namespace, address } });
  const answering = start('agents', [process.execPath, join(import.meta.dirname, 'agents.ts'), address, String(firstPort), String(agents)]);
  await create(cluster);
  const rows: Record<string, Record<string, number>> = {};
  for (const words of [['status'], ['peers']]) {
    rows[`herald ${words.join(' ')} --watch ${interval}`] = await measure(cluster, answering, words);
  }
  const under = conditions(programs('kube-apiserver', 'etcd'));
  if (values.json) console.log(JSON.stringify({ conditions: under, agents, seconds, commands: rows }));
  else {
    console.log(conditionLines(under));
    console.table(rows);
  }
} finally {
  for (const one of started) one.kill('SIGKILL');
  await Promise.all(started.map((one) => one.exited));
  await cluster?.stop();
  await ip([`netns del ${namespace}`]);
  clearInterval(alive);
}

function start(name: string, command: readonly string[]): LabProcess {
  const child = foreground(inNamespace(namespace, command), join(cluster?.directory ?? '', `${name}.log`));
  started.push(child);
  return child;
}

async function create(of: KubernetesCluster): Promise<void> {
  for (const kind of kinds) await apply(of, definition(kind));
  await apply(of, ...['base/namespace.yaml', 'base/agent-rbac.yaml'].flatMap((file) => shipped(file)));
  const objects = objectsFor(agents, firstPort);
  await until('every object is accepted', async () => {
    await apply(of, ...objects.slice(0, 10));
    return true;
  });
  for (let at = 10; at < objects.length; at += 20) await apply(of, ...objects.slice(at, at + 20));
  for (let index = 0; index < agents; index++) {
    await of.request({
      method: 'PATCH',
      path: `/api/v1/namespaces/herald-system/pods/herald-agent-${index}/status`,
      body: { status: { phase: 'Running', podIP: address, podIPs: [{ ip: address }] } },
      contentType: 'application/merge-patch+json',
    });
  }
}

async function measure(of: KubernetesCluster, answering: LabProcess, words: readonly string[]): Promise<Record<string, number>> {
  const figures = async () => ({
    requests: await requestsTo(of),
    asked: Number(answering.lines().at(-1) ?? 0),
    apiServer: processorSeconds(pidOf('--etcd-servers', of.directory)),
    agents: processorSeconds(pidOf('agents.ts', String(firstPort))),
    at: performance.now(),
  });
  const before = await figures();
  await sleep(seconds * 500);
  const idle = await figures();
  const kubeconfig = join(of.directory, 'kubeconfig');
  const command = start(`watch-${words.join('-')}`, [program, ...words, '--watch', String(interval), '--kubeconfig', kubeconfig]);
  await until('the command shows its first table', () => command.lines().length > agents / 100, 120_000);
  const watching = await figures();
  const own = (): number => processorSeconds(pidOf(words[0] ?? '', '--watch', kubeconfig));
  const ownBefore = own();
  await sleep(seconds * 1000);
  const after = await figures();
  const took = (after.at - watching.at) / 1000;
  const idled = (idle.at - before.at) / 1000;
  const inBackground = (idle.apiServer - before.apiServer) / idled;
  const requests = (after.requests - watching.requests) / took - (idle.requests - before.requests) / idled;
  // Each reading asks an agent for its index and for its sessions.
  const readings = (after.asked - watching.asked) / agents / 2;
  const result = {
    'seconds from reading to reading': took / readings,
    'API server: requests/s': requests,
    'API server: requests of a reading': (requests * took) / readings,
    'API server: CPU ms of a reading': (1000 * (after.apiServer - watching.apiServer - inBackground * took)) / readings,
    'command: CPU ms of a reading': (1000 * (own() - ownBefore)) / readings,
    'each agent: CPU ms of a reading': (1000 * (after.agents - watching.agents)) / readings / agents,
  };
  command.kill('SIGINT');
  await command.exited;
  return Object.fromEntries(Object.entries(result).map(([name, value]) => [name, Number(value.toPrecision(3))]));
}

async function requestsTo(of: KubernetesCluster): Promise<number> {
  const text = (await of.request({ path: '/metrics' })) as string;
  return [...samplesOf(text, 'apiserver_request_total').values()].reduce((sum, count) => sum + count, 0);
}

/** Returns the process whose command line contains all words. */
function pidOf(...words: readonly string[]): number {
  const pid = readdirSync('/proc').find((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return false;
    const line = commandLine(name);
    return !line.startsWith('ip\0') && words.every((word) => line.includes(word));
  });
  if (pid === undefined) throw new Error(`no process with ${words.join(' ')}`);
  return Number(pid);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // It ended meanwhile.
    return '';
  }
}

function processorSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
