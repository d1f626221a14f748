import { execFile, execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { defined } from '../../src/lang/defined.ts';
import { bundleCommand } from '../../src/cli/bundle/bundle-command.ts';
import { explainCommand } from '../../src/cli/commands/explain-command.ts';
import { statusCommand } from '../../src/cli/commands/tables/status-command.ts';
import { planCommand } from '../../src/cli/commands/plan-command.ts';
import { inProcess } from '../unit/cli/in-process.ts';
import { root, type Outcome } from '../unit/cli/program.ts';
import { until } from '../lab/until.ts';
import type { AuditedCall } from './audit.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { apply, configurationKinds, definition, ours, shipped } from './manifests.ts';

let cluster: KubernetesCluster;

const peerSpec = { myASN: 64_512, peerASN: 65_101, peerAddress: '10.1.0.1', holdTime: '90s', keepaliveTime: '30s' };
const web = (spec: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    type: 'LoadBalancer',
    loadBalancerClass: 'herald.dev/herald',
    selector: { app: 'web' },
    ports: [{ port: 80, targetPort: 8080 }],
    ...spec,
  },
});

beforeAll(async () => {
  cluster = await borrowCluster({ controllerManager: true });
  for (const kind of configurationKinds) await apply(cluster, definition(kind));
  await apply(cluster, ...shipped('base/namespace.yaml'), ...shipped('base/explain-rbac.yaml'));
  await apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'tor', namespace: 'herald-system' },
    type: 'kubernetes.io/basic-auth',
  };
  await until('every object is accepted', async () => {
    await apply(
      cluster,
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } },
      { ...secret, stringData: { password: 'correct-horse' } },
      ours('IPAddressPool', 'main', { addresses: ['192.0.2.0/28'] }),
      ours('BGPPeer', 'tor', { ...peerSpec, passwordSecret: { name: 'tor', namespace: 'herald-system' } }),
      ours('BGPAdvertisement', 'all', {}),
      web(),
    );
    return true;
  });
  await until('the service account of the namespace exists', async () => {
    const { status } = await cluster.attempt({ path: '/api/v1/namespaces/shop/serviceaccounts/default' });
    return status === 200;
  });
});

afterAll(async () => {
  await cluster?.stop();
});

/** Writes a kubeconfig of a service account with the rights of a ClusterRole, cluster-wide or in one namespace. */
async function callerWith(name: string, roleName: string, namespace?: string): Promise<string> {
  const token = await cluster.serviceAccountToken('herald-system', name);
  await apply(cluster, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: { name, ...defined({ namespace }) },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: roleName },
    subjects: [{ kind: 'ServiceAccount', namespace: 'herald-system', name }],
  });
  const file = join(cluster.directory, `${name}.kubeconfig`);
  await writeFile(file, cluster.kubeconfig(token), { mode: 0o600 });
  await until(`${name} may list`, async () => {
    const path = namespace === undefined ? '/api/v1/services' : `/api/v1/namespaces/${namespace}/services`;
    return (await cluster.attempt({ path }, token)).status === 200;
  });
  return file;
}

const callsOf = (name: string): readonly AuditedCall[] =>
  cluster.auditedCalls().filter(({ user }) => user === `system:serviceaccount:herald-system:${name}`);

const explain = (kubeconfig: string, ...words: readonly string[]): Promise<Outcome> =>
  inProcess(explainCommand, ['service', 'shop/web', '--kubeconfig', kubeconfig, ...words]);

const pod = (labels: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-1', namespace: 'shop', labels },
  spec: { containers: [{ name: 'app', image: 'example.com/app' }], nodeName: 'node1' },
});

describe('explain of a real API server', () => {
  test('the shipped ClusterRole is enough to explain an unmatched selector, an unready and a ready Pod', async () => {
    const kubeconfig = await callerWith('reader', 'herald-explain');
    await apply(cluster, pod({ app: 'webs' }));
    const unmatched = await explain(kubeconfig);
    expect({ code: unmatched.code, stderr: unmatched.stderr }).toEqual({ code: 0, stderr: '' });
    expect(unmatched.stdout).toContain('no Pod of the namespace has the labels app=web (it has 1 Pods; nearest: web-1 has app=webs)');
    expect(unmatched.stdout).not.toContain('correct-horse');
    // The role may not list Secrets, so explain must not claim that the Secret is missing.
    expect(unmatched.stdout).toContain('not read: secrets herald-system/tor: you may not list them; it is assumed to exist');
    expect(unmatched.stdout).not.toContain('not read: services');

    await apply(cluster, pod({ app: 'web' }));
    await until('the endpoint is known', async () => (await explain(kubeconfig)).stdout.includes('Pod web-1'));
    expect((await explain(kubeconfig)).stdout).toContain('Pod web-1: container app is not ready');

    const status = {
      phase: 'Running',
      podIP: '10.244.1.1',
      podIPs: [{ ip: '10.244.1.1' }],
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [{ name: 'app', ready: true, restartCount: 0, image: '', imageID: '' }],
    };
    const path = '/api/v1/namespaces/shop/pods/web-1/status';
    await cluster.request({ method: 'PATCH', path, body: { status }, contentType: 'application/merge-patch+json' });
    await until('the endpoint is ready', async () => (await explain(kubeconfig)).stdout.includes('Endpoints  1 ready'));
    expect((await explain(kubeconfig)).stdout).not.toContain('Pod web-1');
  });

  test('explain and status only list, and their role has no other kind', async () => {
    const status = await inProcess(statusCommand, ['--kubeconfig', join(cluster.directory, 'reader.kubeconfig')]);
    expect({ code: status.code, stderr: status.stderr }).toEqual({ code: 0, stderr: '' });
    expect(status.stdout).toContain('Controller  ');
    const calls = callsOf('reader').filter(({ resource }) => resource !== 'secrets');
    expect(calls.filter(({ code }) => code >= 400)).toEqual([]);
    expect(new Set(calls.map(({ verb }) => verb))).toEqual(new Set(['list']));
    const [role] = shipped('base/explain-rbac.yaml') as unknown as readonly { rules: { apiGroups: string[]; resources: string[] }[] }[];
    const allowed = (role?.rules ?? []).flatMap(({ apiGroups: [group = ''], resources }) => resources.map((one) => `${group}/${one}`));
    expect(new Set(calls.map(({ group, resource }) => `${group}/${resource}`))).toEqual(new Set(allowed));
  });

  test('warnings of the Service are found by field selectors', async () => {
    const event = (name: string, regarding: object, type: string): object => ({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace: 'shop' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'herald.dev/controller',
      reportingInstance: 'test',
      action: 'Assign',
      reason: name.split('.')[0] === 'other' ? 'Other' : 'NoPoolFits',
      type,
      note: `of ${name}`,
      regarding: { apiVersion: 'v1', namespace: 'shop', ...regarding },
    });
    for (const [name, regarding, type] of [
      ['web.1', { kind: 'Service', name: 'web' }, 'Warning'],
      ['other.1', { kind: 'Service', name: 'other' }, 'Warning'],
      ['web.2', { kind: 'Service', name: 'web' }, 'Normal'],
      ['web.3', { kind: 'Pod', name: 'web' }, 'Warning'],
    ] as const) {
      const path = '/apis/events.k8s.io/v1/namespaces/shop/events';
      await cluster.request({ method: 'POST', path, body: event(name, regarding, type) });
    }
    const { stdout } = await explain(join(cluster.directory, 'reader.kubeconfig'), '-o', 'json');
    const { record } = JSON.parse(stdout) as { record: { events: { note: string }[] } };
    expect(record.events.map(({ note }) => note)).toEqual(['of web.1']);
  });

  test('a user with rights in one namespace sees its objects and what could not be read', async () => {
    const kubeconfig = await callerWith('developer', 'view', 'shop');
    const { code, stdout, stderr } = await explain(kubeconfig);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Endpoints  1 ready');
    expect(stdout).toContain('not read: services outside of namespace shop: you may not list them');
    for (const resource of ['nodes', 'ipaddresspools.herald.dev', 'bgppeers.herald.dev', 'nodestates.herald.dev'])
      expect(stdout).toContain(`not read: ${resource}: you may not list them`);
    expect(stdout).toContain('this cannot be decided here: you may not list nodes');
    expect(stdout).not.toMatch(/there is no IPAddressPool|there is no Node object/);
  });

  test('explain works as a plugin of kubectl', async () => {
    const argv = ['explain', 'service', 'shop/web', '--kubeconfig', join(cluster.directory, 'reader.kubeconfig')];
    const stdout = await new Promise<string>((resolve, reject) => {
      execFile(join(root, 'bin/kubectl-herald'), argv, (error, out) => (error === null ? resolve(out) : reject(error)));
    });
    expect(stdout).toContain('Service shop/web (LoadBalancer)');
  });
});

describe('plan against a real API server', () => {
  const planned = async (manifest: object, ...words: readonly string[]): Promise<Outcome> => {
    const file = join(cluster.directory, 'proposed.yaml');
    await writeFile(file, stringify(manifest));
    return inProcess(planCommand, ['-f', file, '--kubeconfig', join(cluster.directory, 'reader.kubeconfig'), ...words]);
  };

  test('a plan shows changes, none for an unchanged object, and writes nothing', async () => {
    // The status as a controller writes it.
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1', ipMode: 'VIP' }] } };
    const path = '/api/v1/namespaces/shop/services/web/status';
    await cluster.request({ method: 'PATCH', path, body: { status }, contentType: 'application/merge-patch+json' });
    const before = callsOf('reader').length;
    expect(await planned(ours('IPAddressPool', 'main', { addresses: ['192.0.2.0/28'] }))).toMatchObject({ code: 0 });
    const { code, stdout } = await planned(web({ type: 'ClusterIP', loadBalancerClass: null }));
    expect({ code, stdout }).toMatchObject({ code: 2, stdout: expect.stringContaining('  - NodePort ') });
    const passwordSecret = { name: 'tor', namespace: 'herald-system' };
    const reset = await planned(ours('BGPPeer', 'tor', { ...peerSpec, holdTime: '30s', passwordSecret }), '--fail-on', 'session-reset');
    expect(reset).toMatchObject({ code: 3, stderr: 'refused: session-reset: node1 tor (holdTime)\n' });
    const calls = callsOf('reader').slice(before);
    expect(new Set(calls.map(({ verb }) => verb))).toEqual(new Set(['list', 'get']));
    expect(calls.filter(({ verb }) => verb === 'get').map(({ resource }) => resource)).toEqual(expect.arrayContaining(['secrets']));
  });
});

describe('bundle of a real API server', () => {
  /** Runs `herald bundle` and returns its outcome and its files by path. */
  async function bundle(kubeconfig: string): Promise<{ readonly outcome: Outcome; readonly files: ReadonlyMap<string, string> }> {
    const into = await mkdtemp(join(cluster.directory, 'bundle-'));
    const archive = join(into, 'bundle.tar.gz');
    const words = ['--kubeconfig', kubeconfig, '--host', 'never', '--socket', '/nonexistent/agent.sock', '-o', archive];
    const outcome = await inProcess(bundleCommand, words);
    execFileSync('tar', ['-xzf', archive, '-C', into, '--strip-components', '1']);
    const found = globSync('**/*.{txt,json,log}', { cwd: into });
    return { outcome, files: new Map(found.map((file) => [file, readFileSync(join(into, file), 'utf8')])) };
  }

  test('the shipped ClusterRole is enough for objects, decisions and Events, and nothing is written', async () => {
    const before = callsOf('reader').length;
    const { outcome, files } = await bundle(join(cluster.directory, 'reader.kubeconfig'));
    expect(outcome).toMatchObject({ code: 0, stdout: '' });
    expect([...files.values()].join('\n')).not.toMatch(/correct-horse|Y29ycmVjdC1ob3JzZ/);
    expect(files.get('objects/BGPPeer.json')).toContain('"passwordSecret"');
    expect(files.get('objects/Service.json')).toContain('"name":"web"');
    expect(files.get('tables/peers.txt')).toContain('tor');
    expect(files.get('cluster/events.json')).toContain('of web.1');
    expect(files.get('cluster/version.json')).toContain('gitVersion');
    expect(
      new Set(
        callsOf('reader')
          .slice(before)
          .map(({ verb }) => verb),
      ),
    ).toEqual(new Set(['list', 'get']));
  });

  test("an administrator's bundle redacts environment values and names logs that it could not read", async () => {
    const labels = { 'app.kubernetes.io/name': 'herald', 'app.kubernetes.io/component': 'agent' };
    const container = { name: 'agent', image: 'example.com/herald', env: [{ name: 'PROXY', value: 'planted-value' }] };
    await until('the service account exists', async () => {
      const path = '/api/v1/namespaces/herald-system/serviceaccounts/default';
      return (await cluster.attempt({ path })).status === 200;
    });
    await apply(cluster, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'herald-agent-1', namespace: 'herald-system', labels },
      spec: { containers: [container], nodeName: 'node1' },
    });
    const admin = join(cluster.directory, 'administrator.kubeconfig');
    await writeFile(admin, cluster.kubeconfig(), { mode: 0o600 });
    const { outcome, files } = await bundle(admin);
    expect(outcome.code).toBe(0);
    expect([...files.values()].join('\n')).not.toMatch(/correct-horse|Y29ycmVjdC1ob3JzZ|planted-value/);
    expect(files.has('objects/Secret.json')).toBe(false);
    expect(files.get('cluster/pods.json')).toContain('"name":"PROXY","value":"REMOVED"');
    // The node has no kubelet, so its logs cannot be read.
    expect(files.get('README.txt')).toContain('log of herald-agent-1: ');
    expect(files.get('README.txt')).toContain('the agent of node1: ');
  });
});
