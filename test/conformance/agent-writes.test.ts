import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { limits } from '../../src/agent/limits.ts';
import { run } from '../lab/command.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { inNamespace, ip, prepareNamespace } from '../lab/namespace.ts';
import { until } from '../lab/until.ts';
import type { AuditedCall } from './audit.ts';
import { KubernetesCluster } from './cluster.ts';
import { foreground } from './foreground.ts';
import { apply, configurationKinds, definition, shipped } from './manifests.ts';

/** Counts what an agent and a controller write into a real API server, from its audit log. */
const namespace = `hl-ku-${process.pid}-writes`;
const program = join(import.meta.dirname, '../../bin/herald');
let cluster: KubernetesCluster;
let agent: LabProcess;
const started: LabProcess[] = [];

const podName = 'herald-agent-x7k2p';
const pods = '/api/v1/namespaces/herald-system/pods';
const agentPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: podName, labels: { 'app.kubernetes.io/name': 'herald', 'app.kubernetes.io/component': 'agent' } },
  spec: {
    nodeName: 'node1',
    serviceAccountName: 'herald-agent',
    automountServiceAccountToken: false,
    containers: [{ name: 'agent', image: 'herald' }],
  },
};

const services = '/api/v1/namespaces/default/services';
const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const ours = (kind: string, name: string, spec: object): object => ({ apiVersion: 'herald.dev/v1alpha1', kind, metadata: { name }, spec });
const web = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default' },
  spec: { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', ports: [{ port: 80 }] },
});
/** A slice of the Service with `count` endpoints, of which the first serves. */
const sliceOf = (name: string, count: number): object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `${name}-1`, namespace: 'default', labels: { 'kubernetes.io/service-name': name } },
  addressType: 'IPv4',
  ports: [{ name: '', port: 8080, protocol: 'TCP' }],
  endpoints: Array.from({ length: count }, (_, index) => ({
    addresses: [`10.1.0.${index + 1}`],
    conditions: { ready: index === 0 },
    nodeName: 'node1',
  })),
});

beforeAll(async () => {
  await ip([`netns add ${namespace}`]);
  await prepareNamespace(namespace, true);
  // A cluster of its own, in the network namespace of the agent.
  cluster = await KubernetesCluster.start({ audit: true, inside: { namespace, address: '127.0.0.1' } });
  for (const kind of configurationKinds) await apply(cluster, definition(kind));
  for (const file of ['namespace', 'agent-rbac', 'controller-rbac']) await apply(cluster, ...shipped(`base/${file}.yaml`));
  await until('every object is accepted', async () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } };
    await apply(cluster, node, ours('IPAddressPool', 'main', { addresses: ['192.0.2.0/24'] }), ours('HeraldConfig', 'default', {}));
    return true;
  });
  const { metadata } = (await cluster.request({ method: 'POST', path: pods, body: agentPod })) as { metadata: { uid: string } };
  await setContainer({ running: { startedAt: new Date().toISOString().replace(/\.\d+Z$/, 'Z') } });
  await (await start([], 'controller')).waitForLine(/controller started/);
  const inPod = ['env', `POD_NAME=${podName}`, `POD_UID=${metadata.uid}`];
  agent = await start(inPod, 'agent', '--node', 'node1', '--healthz-bind-address', 'none');
  await agent.waitForLine(/agent started/);
});

afterAll(async () => {
  for (const one of started) {
    one.kill('SIGKILL');
    await one.exited;
  }
  await cluster?.stop();
  await run(['ip', 'netns', 'del', namespace], { check: false });
});

/** Plays the kubelet: it reports the state of the agent's container. */
async function setContainer(state: object): Promise<void> {
  const container = { name: 'agent', image: 'herald', imageID: '', ready: true, restartCount: 0, state };
  await cluster.request({
    method: 'PATCH',
    path: `${pods}/${podName}/status`,
    body: { status: { containerStatuses: [container] } },
    contentType: 'application/merge-patch+json',
  });
}

async function start(prefix: readonly string[], command: 'agent' | 'controller', ...further: readonly string[]): Promise<LabProcess> {
  const token = await cluster.serviceAccountToken('herald-system', `herald-${command}`);
  const kubeconfig = join(cluster.directory, `${command}.kubeconfig`);
  // The server's certificate covers loopback only by the name localhost.
  await writeFile(kubeconfig, cluster.kubeconfig(token).replace('127.0.0.1', 'localhost'), { mode: 0o600 });
  const argv = [...prefix, program, command, ...further, '--kubeconfig', kubeconfig];
  const child = foreground(inNamespace(namespace, argv), join(cluster.directory, `${command}.log`));
  started.push(child);
  return child;
}

/** The answered writes of an account that are no part of the election. The log has each request twice, also when it arrives. */
function writesOf(account: 'agent' | 'controller'): readonly AuditedCall[] {
  return cluster
    .auditedCalls()
    .filter(
      ({ user, verb, resource, code }) =>
        code > 0 &&
        user === `system:serviceaccount:herald-system:herald-${account}` &&
        !['get', 'list', 'watch'].includes(verb) &&
        resource !== 'leases',
    );
}

const conditionsOf = async (name: string): Promise<string> => {
  const { status } = (await cluster.request({ path: `${services}/${name}` })) as { readonly status: object };
  return JSON.stringify(status);
};

const programmed = (name: string) => async (): Promise<boolean> =>
  /"type":"herald.dev\/Programmed","status":"True"|"status":"True","type":"herald.dev\/Programmed"/.test(await conditionsOf(name));

/** Resolves when the new Services have caused their last Event, and their last report: it comes at the end of an interval. */
async function quiet(): Promise<void> {
  const count = (): number => writesOf('agent').length + writesOf('controller').length;
  let [last, before] = [performance.now(), count()];
  while (performance.now() - last < limits.reportEveryMilliseconds + 1_000) {
    await pause(500);
    if (count() !== before) [last, before] = [performance.now(), count()];
  }
}

test('100 Services that appear at once cause a bounded number of reports, and all are programmed', async () => {
  await apply(cluster, web('web'), sliceOf('web', 1));
  await until('the first Service is programmed', programmed('web'));
  const before = writesOf('agent').length;
  const began = performance.now();
  const names = Array.from({ length: 100 }, (_, index) => `many-${index}`);
  for (const name of names) await apply(cluster, web(name));
  for (const name of names) await until(`${name} is programmed`, programmed(name));
  // An agent shortens its interval by at most a quarter.
  const intervals = (performance.now() - began) / (0.75 * limits.reportEveryMilliseconds);
  expect(writesOf('agent').length - before).toBeLessThanOrEqual(1 + Math.ceil(intervals));
});

/** Since when no agent should have written. */
let undisturbed: { readonly since: number; readonly agent: number; readonly controller: number };

test('200 changes of endpoints cause no write', async () => {
  await quiet();
  undisturbed = { since: performance.now(), agent: writesOf('agent').length, controller: writesOf('controller').length };
  for (let change = 0; change < 200; change++) {
    await cluster.request({ method: 'PUT', path: `${slices}/web-1`, body: sliceOf('web', 1 + (change % 2)) });
  }
  await pause(2_000);
  expect(writesOf('agent').slice(undisturbed.agent)).toEqual([]);
  expect(writesOf('controller').slice(undisturbed.controller)).toEqual([]);
});

/** Runs a command of the administrator, and returns what it prints. */
async function herald(...words: readonly string[]): Promise<string> {
  const kubeconfig = join(cluster.directory, 'admin.kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig().replace('127.0.0.1', 'localhost'), { mode: 0o600 });
  const { stdout } = await run(inNamespace(namespace, [program, ...words, '--no-ask', '--kubeconfig', kubeconfig]), { check: false });
  return stdout;
}

test('an agent in a Pod counts as alive after 95 s without a write, in condition and explain', async () => {
  // The changes of endpoints count as part of this time.
  await pause(95_000 - (performance.now() - undisturbed.since));
  expect(writesOf('agent').slice(undisturbed.agent)).toEqual([]);
  expect(await programmed('web')()).toBe(true);
  expect(await herald('explain', 'node', 'node1')).not.toContain('no agent reports');
});

test('explain says at once, and the condition after its hold of 30 s, that an agent was killed', async () => {
  agent.kill('SIGKILL');
  await agent.exited;
  expect(await herald('explain', 'node', 'node1')).not.toContain('no agent reports');
  await setContainer({ terminated: { exitCode: 137, reason: 'Error' } });
  const killed = performance.now();
  expect(await herald('explain', 'node', 'node1')).toContain('no agent reports for node "node1"');
  await until('the condition says so', async () => /NoAgentReports/.test(await conditionsOf('web')));
  expect(performance.now() - killed).toBeLessThan(60_000);
});

test('an older agent, whose reports name no Pod, counts for 90 s after its last write, by the clock of the API server', async () => {
  const write = async (manager: string, secondsAgo: number): Promise<void> => {
    const updated = new Date(Date.now() - secondsAgo * 1000).toISOString();
    await cluster.request({
      method: 'PATCH',
      path: `/apis/herald.dev/v1alpha1/nodestates/node1/status?fieldManager=${manager}`,
      body: { status: { updated, pod: null } },
      contentType: 'application/merge-patch+json',
    });
  };
  // Neither another client's write nor a time that the report itself names is a sign of life.
  await write('kubectl', 0);
  expect(await herald('explain', 'node', 'node1')).toContain('no agent reports for node "node1"');
  await write('herald-agent', 100);
  expect(await herald('explain', 'node', 'node1')).not.toContain('no agent reports');
});
