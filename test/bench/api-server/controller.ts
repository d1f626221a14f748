/** See `help`. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { listPages } from '../../../src/kube/reflector/list-pages.ts';
import { sleep, systemClock } from '../../../src/system/clock.ts';
import { KubernetesCluster } from '../../conformance/cluster.ts';
import { foreground } from '../../conformance/foreground.ts';
import { apply, definition, shipped } from '../../conformance/manifests.ts';
import { endTogether } from '../../lab/ends-together.ts';
import type { LabProcess } from '../../lab/lab-process.ts';
import { until } from '../../lab/until.ts';
import { samplesOf } from '../../unit/telemetry/scrape.ts';
import { conditions } from '../runner/conditions.ts';
import { peakMemory, processorSeconds, residentMemory } from '../runner/process-figures.ts';
import { programs } from '../runner/versions.ts';
import { putAll } from '../scale/etcd.ts';
import { clusterAddress, ipAddress, like, type StoredObject } from '../scale/objects.ts';

const help = `node test/bench/api-server/controller.ts [COUNT]

  Measures a controller over COUNT Services (default 10000) against a real kube-apiserver: the status writes a second for Services that
  exist at its start, beside a bare client that makes the same writes in the same run; its memory; and how long a restart takes. Prints
  JSON. Needs the programs of scripts/setup-conformance.sh.

  node test/bench/api-server/controller.ts 500`;

const { values, positionals } = parseArgs({ options: { help: { type: 'boolean', default: false } }, allowPositionals: true });
if (values.help) {
  console.log(help);
  process.exit();
}
const count = Number(positionals[0] ?? 10_000);
/** Services of another class, whose status the bare client writes. */
const bare = Math.min(count, 5000);
/** As many as the controller has at work. */
const atOnce = 16;
const patience = 1_800_000;
const program = join(import.meta.dirname, '../../../bin/herald');
const services = '/api/v1/namespaces/default/services';
const signal = new AbortController().signal;

endTogether();
// Children of the cluster do not keep this process alive.
const alive = setInterval(() => undefined, 1000);
const cluster = await KubernetesCluster.start();
const { server, certificateAuthority: ca, token } = cluster.admin;
const credentials = async () => ({ ca, authorization: `Bearer ${token}` });
const client = new KubeClient({ server: new URL(server), credentials, expired: () => undefined }, { clock: systemClock });
let started = 0;
try {
  for (const file of ['namespace', 'controller-rbac']) await apply(cluster, ...shipped(`base/${file}.yaml`));
  await apply(cluster, definition('IPAddressPool'));
  const pool = { apiVersion: 'herald.dev/v1alpha1', kind: 'IPAddressPool', metadata: { name: 'big' }, spec: { addresses: ['10.0.0.0/8'] } };
  await until('the pool is accepted', async () => {
    await apply(cluster, pool);
    return true;
  });
  await make();
  await atRest();
  const bareClient = await writeBare();
  const kubeconfig = join(cluster.directory, 'controller.kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig(await cluster.serviceAccountToken('herald-system', 'herald-controller')), { mode: 0o600 });
  const before = await statusWrites();
  const first = await startController(kubeconfig);
  const seconds = await allWritten(first.process);
  const cpuSeconds = processorSeconds(first.process.pid);
  const missing = count - (await withAddress());
  // Events may come later, and are lost beyond a bound.
  await until('the pool counts all addresses', async () => (await assignedAddresses()) === count, 30_000).catch(() => undefined);
  const memory = { rssMegabytes: residentMemory(first.process.pid), peakMegabytes: peakMemory(first.process.pid) };
  const events = await length('/apis/events.k8s.io/v1/events');
  const lost = first.process.lines().filter((line) => line.includes('Events are lost'));
  const afterStop = await restart(first.process, 'SIGTERM', kubeconfig);
  await sleep(systemClock, 500);
  const writesOfRestart = (await statusWrites()) - before - count;
  const afterKill = await restart(afterStop.process, 'SIGKILL', kubeconfig);
  const memoryAfterRestart = { rssMegabytes: residentMemory(afterKill.process.pid), peakMegabytes: peakMemory(afterKill.process.pid) };
  afterKill.process.kill('SIGKILL');
  await afterKill.process.exited;
  const perSecond = count / seconds;
  console.log(
    JSON.stringify({
      conditions: conditions(programs('kube-apiserver', 'etcd')),
      count,
      seconds: Number(seconds.toPrecision(4)),
      perSecond: Math.round(perSecond),
      bareClientPerSecond: Math.round(bareClient),
      partOfBareClient: Number((perSecond / bareClient).toPrecision(3)),
      missing,
      cpuSeconds,
      firstStartSeconds: first.seconds,
      restartSecondsAfterSIGTERM: afterStop.seconds,
      writesOfRestart,
      restartSecondsAfterSIGKILL: afterKill.seconds,
      memory,
      memoryAfterRestart,
      events,
      lost: lost.at(-1) ?? '',
    }),
  );
} finally {
  client.close();
  await cluster.stop();
  clearInterval(alive);
}

/** The first Service of each class goes through the API server, and the others are copies of it. */
async function make(): Promise<void> {
  const template = async (name: string, index: number, loadBalancerClass: string): Promise<StoredObject> => {
    const spec = {
      type: 'LoadBalancer',
      loadBalancerClass,
      allocateLoadBalancerNodePorts: false,
      clusterIP: clusterAddress(index),
      ports: [{ port: 80 }],
    };
    return (await client.write({ method: 'POST', path: services, body: { metadata: { name }, spec } })) as StoredObject;
  };
  const ours = await template('svc-0', 0, 'herald.dev/herald');
  const others = await template('bare-0', count, 'example.org/bare');
  const address = (await client.get(`/apis/networking.k8s.io/v1/ipaddresses/${clusterAddress(0)}`)) as StoredObject;
  // The API server makes an address that it does not know yet, with an Event, and deletes one without a Service that is older than a minute.
  await putAll(cluster.etcdPort, addresses(address));
  await sleep(systemClock, 1000);
  await putAll(cluster.etcdPort, copies(ours, others));
  // Beside them there is the Service of the API server itself.
  await until('the API server has all Services', async () => (await length(services)) >= count + bare, 120_000);
}

function* copies(ours: StoredObject, others: StoredObject): Generator<readonly [string, object]> {
  for (const index of indexesOfCopies()) {
    const template = index < count ? ours : others;
    const clusterIP = clusterAddress(index);
    const spec = { ...(template['spec'] as object), clusterIP, clusterIPs: [clusterIP] };
    yield [`services/specs/default/${nameOf(index)}`, like(template, { name: nameOf(index) }, { spec })];
  }
}

function* addresses(template: StoredObject): Generator<readonly [string, object]> {
  for (const index of indexesOfCopies()) {
    const parentRef = { group: '', resource: 'services', namespace: 'default', name: nameOf(index) };
    yield [`ipaddresses/${clusterAddress(index)}`, { ...ipAddress(template, index), spec: { parentRef } }];
  }
}

function nameOf(index: number): string {
  return index < count ? `svc-${index}` : `bare-${index - count}`;
}

function* indexesOfCopies(): Generator<number> {
  for (let index = 1; index < count + bare; index++) if (index !== count) yield index;
}

/** Makes the writes of a controller without one: the same body, as many at a time, while a watch is open as a controller has. Returns the rate. */
async function writeBare(): Promise<number> {
  const watching = new AbortController();
  const watch = (async () => {
    const { body } = await client.stream('/api/v1/services', { watch: true }, watching.signal);
    for await (const _ of body) continue;
  })().catch(() => undefined);
  const indexes = Array.from({ length: bare }, (_, index) => index);
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const condition = (type: string): object => ({
    type: `example.org/${type}`,
    status: 'True',
    observedGeneration: 1,
    lastTransitionTime,
    reason: 'AddressAssigned',
    message: 'the Service has its address from pool "big"',
  });
  const began = systemClock.now();
  const work = async (): Promise<void> => {
    for (let index = indexes.pop(); index !== undefined; index = indexes.pop())
      await client.write({
        method: 'PATCH',
        path: `${services}/bare-${index}/status`,
        contentType: 'application/strategic-merge-patch+json',
        body: {
          status: {
            loadBalancer: { ingress: [{ ip: `10.200.${index >> 8}.${index & 255}` }] },
            conditions: ['AddressAssigned', 'Programmed', 'Announced'].map(condition),
          },
        },
      });
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const rate = bare / ((systemClock.now() - began) / 1000);
  watching.abort();
  await watch;
  return rate;
}

/** Resolves when the controller leads and has read everything. `seconds`: since the start of the process. */
async function startController(kubeconfig: string): Promise<{ readonly process: LabProcess; readonly seconds: number }> {
  const began = systemClock.now();
  const child = foreground([program, 'controller', '--kubeconfig', kubeconfig], join(cluster.directory, `controller-${++started}.log`));
  await child.waitForLine(/controller started/, patience);
  return { process: child, seconds: Number(((systemClock.now() - began) / 1000).toPrecision(3)) };
}

async function restart(running: LabProcess, how: 'SIGTERM' | 'SIGKILL', kubeconfig: string): ReturnType<typeof startController> {
  running.kill(how);
  await running.exited;
  return startController(kubeconfig);
}

/** Resolves when the API server has handled the objects that were put into etcd, so that both measurements begin alike. */
async function atRest(): Promise<void> {
  const used = (): number => processorSeconds(cluster.pids.apiServer) + processorSeconds(cluster.pids.etcd);
  await until('the API server is at rest', async () => {
    const before = used();
    await sleep(systemClock, 1000);
    return used() - before < 0.1;
  });
}

/**
 * Resolves when the controller has written all Services, to the seconds since it began. They are the times in its log, because a question to the API
 * server while it works would be work for that, too.
 */
async function allWritten({ logFile }: LabProcess): Promise<number> {
  const deadline = systemClock.now() + patience;
  for (;;) {
    await sleep(systemClock, 500);
    const lines = (await readFile(logFile, 'utf8')).split('\n');
    const assigned = lines.filter((line) => line.includes('"address assigned"'));
    const began = lines.find((line) => line.includes('"controller started"'));
    if (assigned.length >= count) return (timeOf(assigned.at(-1)) - timeOf(began)) / 1000;
    if (systemClock.now() > deadline) throw new Error(`${assigned.length} of ${count} Services were written`);
  }
}

function timeOf(line = '{}'): number {
  return Date.parse((JSON.parse(line) as { readonly time: string }).time);
}

/** Counts the status writes to Services that the API server has accepted since its start. */
async function statusWrites(): Promise<number> {
  const text = (await cluster.request({ path: '/metrics' })) as string;
  return [...samplesOf(text, 'apiserver_request_total')]
    .filter(([series]) => /code="200".*resource="services".*subresource="status".*verb="PATCH"/.test(series))
    .reduce((sum, [, requests]) => sum + requests, 0);
}

async function withAddress(): Promise<number> {
  let found = 0;
  for await (const { items } of listPages(client, services, {}, signal))
    found += items.filter(({ metadata, status }) => metadata.name.startsWith('svc-') && JSON.stringify(status).includes('"ip"')).length;
  return found;
}

/** Returns the number of assigned IPv4 addresses that the pool's status shows. */
async function assignedAddresses(): Promise<number> {
  const { status } = (await client.get(`/apis/herald.dev/v1alpha1/ipaddresspools/big`)) as { status?: { assignedIPv4?: number } };
  return status?.assignedIPv4 ?? 0;
}

async function length(path: string): Promise<number> {
  let found = 0;
  for await (const { items } of listPages(client, path, {}, signal)) found += items.length;
  return found;
}
