import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FabricCluster, listPath } from '../fabric-cluster.ts';
import { explainCommand } from '../../../../src/cli/commands/explain-command.ts';
import { livePaths } from '../../../../src/live/contract.ts';
import { inProcess } from '../in-process.ts';
import type { Outcome } from '../program.ts';

let cluster: FabricCluster;
beforeEach(async () => {
  cluster = await FabricCluster.start();
});
afterEach(() => cluster.stop());

const ours = (kind: string): string => listPath({ apiVersion: 'herald.dev/v1alpha1', kind });
const explain = (...words: readonly string[]): Promise<Outcome> => cluster.herald(explainCommand, ['service', ...words]);
const herald = (...words: readonly string[]): Promise<Outcome> => inProcess(explainCommand, ['service', ...words]);
const web = 'shop/web';

describe('explain service of a cluster', () => {
  test("explain lists each kind once with the caller's credentials and opens no watch", async () => {
    cluster.server.pageItems = 500;
    const { code, stdout, stderr } = await explain(web);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Service shop/web (LoadBalancer)');
    expect(stdout).toContain('Endpoints  3 ready');
    expect(cluster.server.methods).toEqual(new Set(['GET']));
    expect(new Set(cluster.server.requests)).toEqual(new Set(['list']));
    expect(cluster.server.paths).toHaveLength(new Set(cluster.server.paths).size);
    expect(cluster.server.paths).toEqual(expect.arrayContaining(['/api/v1/services', '/api/v1/nodes', ours('NodeState')]));
  });

  test('--context selects another cluster, and an unknown context is reported with the known ones', async () => {
    expect(await explain(web, '--context', 'b')).toMatchObject({ code: 1, stderr: 'herald: 127.0.0.1:1: nothing listens there\n' });
    expect((await explain(web, '--context', 'a')).code).toBe(0);
    const { code, stdout, stderr } = await explain(web, '--context', 'c');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('has no context "c" (it has: a, b)');
  });

  const pods = '/api/v1/namespaces/herald-system/pods';

  /** A pod of Herald whose process has these earlier versions in force. */
  function addProcess(name: string, command: 'agent' | 'controller', port: number, kept: readonly object[]): void {
    const metadata = { labels: { 'app.kubernetes.io/name': 'herald', 'app.kubernetes.io/component': command } };
    cluster.server.put('/api/v1/pods', name, { metadata, spec: { nodeName: 'node1' }, status: { phase: 'Running' } }, 'herald-system');
    const process = { command, ...(command === 'agent' ? { node: 'node1' } : {}), version: '1.2.3', started: '2026-01-01T00:00:00.000Z' };
    const answer = (path: string, body: object): void =>
      void cluster.server.texts.set(`${pods}/${name}:${port}/proxy${path}`, JSON.stringify(body));
    answer(livePaths.index, { process });
    answer(livePaths.kept, { process, items: kept });
    answer(livePaths.sessions, { process, items: [] });
    answer(livePaths.routes, { process, items: [] });
  }

  describe('a deleted HeraldConfig that agents keep in force', () => {
    const inForce = {
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'HeraldConfig',
      metadata: { name: 'default', uid: '1', resourceVersion: '5' },
      spec: { defaultClass: true },
    };
    const problem = { message: 'was deleted: what it said stays in force', fix: 'create it' };
    const keeps = { kind: 'HeraldConfig', name: 'default', problem, since: '2026-01-01T00:00:00.000Z', inForce };

    beforeEach(() => cluster.server.remove(ours('HeraldConfig'), 'default'));

    test('is named first, and explain decides from the defaults of a controller that answers', async () => {
      addProcess('controller-1', 'controller', 10_292, []);
      addProcess('agent-1', 'agent', 10_290, [keeps]);
      const { stdout } = await explain(web);
      expect(stdout.split('\n').slice(0, 3)).toEqual([
        'problem: HeraldConfig/default: was deleted, and agents keep it in force (--wait-for-config) (create it again)',
        expect.stringMatching(/^in force: the defaults in the controller .+: what follows is decided from them$/),
        'in force: the deleted HeraldConfig/default in the agent of node1: there, what follows may be different',
      ]);
      expect(stdout).toContain('spec.loadBalancerClass is not set');
    });

    test('is what explain decides from when only agents answer', async () => {
      addProcess('agent-1', 'agent', 10_290, [keeps]);
      const { stdout } = await explain(web, '-o', 'json');
      const { inForce: found, allocation } = JSON.parse(stdout) as { inForce: { kept: object[] }; allocation: object };
      expect(found.kept).toMatchObject([{ object: 'HeraldConfig/default', isDeleted: true, by: ['the agent of node1'], others: [] }]);
      // It has defaultClass: true.
      expect(allocation).not.toHaveProperty('reason');
    });

    test('is not mentioned when no agent has one', async () => {
      addProcess('agent-1', 'agent', 10_290, []);
      const { stdout } = await explain(web);
      expect(stdout).not.toMatch(/was deleted|in force/);
      expect(stdout).toContain('spec.loadBalancerClass is not set');
    });
  });

  describe('of which a pool cannot be used as it is written', () => {
    const wrong = { spec: { addresses: ['198.51.100.999'] } };
    const metadata = { name: 'public', uid: '1', resourceVersion: '7' };
    const earlier = {
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'IPAddressPool',
      metadata,
      spec: { addresses: ['198.51.100.10-198.51.100.99'] },
    };
    const problem = { field: 'spec.addresses[0]', message: 'octet 999 is above 255', fix: 'correct the address' };

    const keeps = { kind: 'IPAddressPool', name: 'public', problem, since: '2026-01-01T00:00:00.000Z', inForce: earlier };

    beforeEach(() => {
      cluster.server.put(ours('IPAddressPool'), 'public', wrong);
      cluster.edit('web', (service) => ({ ...service, status: { loadBalancer: { ingress: [{ ip: '198.51.100.10' }] } } }));
    });

    test('explain decides from the version that a process has in force, and names the mistake first', async () => {
      addProcess('controller-1', 'controller', 10_292, [keeps]);
      addProcess('agent-1', 'agent', 10_290, [keeps]);
      const { stdout } = await explain(web);
      const lines = stdout.split('\n');
      expect(lines[0]).toMatch(/^problem: IPAddressPool\/public: spec\.addresses\[0\]: "198\.51\.100\.999"/);
      expect(lines[1]).toMatch(
        /^in force: the last good version of IPAddressPool\/public, for .+ in the controller .+: what follows is decided from it$/,
      );
      expect(stdout).toContain('Address    198.51.100.10 (pool public)');
      const { stdout: json } = await explain(web, '-o', 'json');
      expect((JSON.parse(json) as { inForce: { kept: object[] } }).inForce.kept).toMatchObject([
        { object: 'IPAddressPool/public', since: keeps.since, others: [], without: [] },
      ]);
    });

    test('explain names the processes that started after the mistake and have no version of the pool', async () => {
      addProcess('controller-1', 'controller', 10_292, [keeps]);
      addProcess('agent-1', 'agent', 10_290, []);
      const { stdout } = await explain(web);
      expect(stdout).toContain(
        'problem: nothing of IPAddressPool/public is in force in the agent of node1: no earlier good version is known there',
      );
      expect(stdout).toContain('Address    198.51.100.10 (pool public)');
    });

    test('explain says which processes were not queried, and what may be wrong for this reason', async () => {
      const { stdout } = await explain(web, '--no-ask');
      expect(stdout).toContain(
        'not queried: agents and controllers: --no-ask: an earlier version of IPAddressPool/public may be in force there, and what follows may then be wrong wherever it depends on IPAddressPool/public',
      );
      expect(stdout).not.toContain('nothing of IPAddressPool/public is in force');
    });
  });

  test('explain names kinds that the caller may not list, and concludes nothing from their absence', async () => {
    for (const path of [ours('IPAddressPool'), ours('BGPPeer'), ours('NodeState')]) cluster.server.forbidden.add(path);
    const { code, stdout } = await explain(web);
    expect(code).toBe(0);
    expect(stdout).toContain('this cannot be decided here: you may not list ipaddresspools.herald.dev');
    expect(stdout).toContain('this cannot be decided here: you may not list nodestates.herald.dev');
    expect(stdout).toContain('not read: bgppeers.herald.dev: you may not list them; the expected sessions are unknown');
    expect(stdout).not.toMatch(/there is no IPAddressPool|no agent reports|has no BGP peer/);
    const { stdout: json } = await explain(web, '-o', 'json');
    const { unread } = JSON.parse(json) as { unread: { kind: string; why: string }[] };
    expect(unread.map(({ kind, why }) => `${kind} ${why}`).toSorted()).toEqual([
      'BGPPeer forbidden',
      'IPAddressPool forbidden',
      'NodeState forbidden',
    ]);
  });

  test('a caller who may read one namespace is told so, and the rest is reported as unknown', async () => {
    for (const path of ['/api/v1/services', '/apis/discovery.k8s.io/v1/endpointslices', '/api/v1/nodes', '/api/v1/namespaces'])
      cluster.server.forbidden.add(path);
    const { code, stdout } = await explain(web);
    expect(code).toBe(0);
    expect(stdout).toContain('Endpoints  3 ready');
    expect(stdout).toContain('not read: services outside of namespace shop: you may not list them');
    expect(stdout).toContain('not read: nodes: you may not list them; no node can be explained');
    expect(stdout).not.toContain('there is no Node object');
  });

  test('explain names CRDs that are not installed', async () => {
    cluster.server.absent.add(ours('IPAddressPool'));
    const { stdout } = await explain(web);
    expect(stdout).toContain('not installed: ipaddresspools.herald.dev (install the CRDs of Herald, manifests/crds)');
  });

  test('a missing Service and an unreachable API server are errors', async () => {
    const missing = await explain('shop/wbe');
    expect(missing).toMatchObject({ code: 1, stdout: '' });
    expect(missing.stderr).toMatch(
      /^herald: there is no valid Service shop\/wbe in the cluster at 127\.0\.0\.1:\d+ \(did you mean shop\/web\?\): there are shop\/ledger, shop\/web\n$/,
    );
    cluster.server.refuseAll = true;
    const away = await explain(web);
    expect(away).toMatchObject({ code: 1, stdout: '' });
    expect(away.stderr).toContain('the API server answered 503');
    expect(away.stderr).not.toContain('    at ');
  });
});

describe('choice of the cluster', () => {
  const asking = (variables: Record<string, string>, ...words: readonly string[]): Promise<Outcome> =>
    inProcess(explainCommand, ['service', web, ...words], { variables });

  test('existing files of $KUBECONFIG are merged, and --kubeconfig overrides them', async () => {
    expect((await asking({ KUBECONFIG: `/no/such/file:${cluster.kubeconfig}` })).code).toBe(0);
    expect((await asking({ KUBECONFIG: '/no/such/file' }, '--kubeconfig', cluster.kubeconfig)).code).toBe(0);
    expect(await asking({ KUBECONFIG: '/no/such/file' })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('/no/such/file cannot be used: ENOENT'),
    });
    const other = join(cluster.directory, 'other');
    await writeFile(other, JSON.stringify({ contexts: [{ name: 'c', context: { cluster: 'a', user: 'a' } }], clusters: [], users: [] }));
    expect((await asking({ KUBECONFIG: `${cluster.kubeconfig}:${other}` }, '--context', 'c')).code).toBe(0);
  });

  test('~/.kube/config is used, else the pod, else the command says which options to use', async () => {
    await mkdir(join(cluster.directory, '.kube'));
    await writeFile(join(cluster.directory, '.kube/config'), await readFile(cluster.kubeconfig));
    expect((await asking({ HOME: cluster.directory })).code).toBe(0);
    const pod = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1', HOME: '/no/such/place' };
    expect((await asking(pod)).stderr).toContain('the service account cannot be read');
    const { code, stderr } = await asking({ HOME: '/no/such/place' });
    expect([code, stderr]).toEqual([1, expect.stringContaining('no cluster was found: there is no $KUBECONFIG, no ~/.kube/config')]);
  });
});

describe('explain service of manifests alone', () => {
  test('a Service without a ClusterIP, as it was never applied, is not an error', async () => {
    const file = join(cluster.directory, 'new.yaml');
    await writeFile(
      file,
      'apiVersion: v1\nkind: Service\nmetadata: { namespace: shop, name: tea }\nspec: { type: LoadBalancer, loadBalancerClass: herald.dev/herald, selector: { app: tea }, ports: [{ port: 80 }] }\n---\napiVersion: herald.dev/v1alpha1\nkind: IPAddressPool\nmetadata: { name: main }\nspec: { addresses: [192.0.2.0/28] }\n',
    );
    const { code, stdout, stderr } = await herald('shop/tea', '-f', file);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Service shop/tea (LoadBalancer)');
    expect(stdout).not.toMatch(/problem|clusterIP/);
  });

  test('explain names broken pools and peers, but not other broken Services', async () => {
    const file = join(cluster.directory, 'broken.yaml');
    const service = (name: string, port: string): string =>
      `apiVersion: v1\nkind: Service\nmetadata: { namespace: shop, name: ${name} }\nspec: { type: LoadBalancer, ports: [{ ${port}: 80 }] }\n`;
    const pool = 'apiVersion: herald.dev/v1alpha1\nkind: IPAddressPool\nmetadata: { name: main }\nspec: { adresses: [192.0.2.0/28] }\n';
    await writeFile(file, [service('tea', 'port'), service('other', 'prot'), pool].join('---\n'));
    const { stdout } = await herald('shop/tea', '-f', file);
    expect(stdout).toContain('IPAddressPool/main: spec.adresses: is not a field (did you mean addresses?)');
    expect(stdout).not.toContain('shop/other');
  });

  test('a missing file and cluster options beside -f are errors', async () => {
    const { code, stderr } = await herald('a', '-f', '/no/such/file');
    expect([code, stderr]).toEqual([1, 'herald: /no/such/file cannot be read: ENOENT\n']);
    expect((await herald('a', '-f', 'x', '--kubeconfig', 'y')).stderr).toContain('cannot be used with option');
  });
});

describe('explain pool, peer and node of a cluster', () => {
  const ask = (...words: readonly string[]): Promise<Outcome> => cluster.herald(explainCommand, words);

  test('each command explains its object, as text and as one JSON object', async () => {
    expect(await ask('pool', 'public')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('IPAddressPool public\n\nAddresses  198.51.100.10-198.51.100.99'),
    });
    expect(await ask('peer', 'tor1-v4', '--node', 'node1')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('BGPPeer tor1-v4 (10.1.0.1)'),
    });
    expect(await ask('node', 'node1')).toMatchObject({ code: 0, stdout: expect.stringContaining('Node node1\n') });
    const { stdout } = await ask('pool', 'public', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ pool: 'public', problems: [], unread: [] });
  });

  test('an unknown name is answered with the known names', async () => {
    expect(await ask('pool', 'publc')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'herald: there is no valid IPAddressPool publc (did you mean public?): there are public, tiny\n',
    });
    expect(await ask('peer', 'tor1-v4', '--node', 'x')).toMatchObject({
      code: 1,
      stderr: 'herald: there is no valid node x: there are node1, node2, node3\n',
    });
  });

  test('nothing is concluded from objects that could not be read', async () => {
    cluster.server.forbidden.add(ours('BGPAdvertisement'));
    cluster.server.forbidden.add(ours('NodeState'));
    const { stdout } = await ask('pool', 'public');
    expect(stdout).toContain('Announced  by nothing: this cannot be decided here: you may not list bgpadvertisements.herald.dev');
    expect((await ask('node', 'node1')).stdout).toContain('Problem    this cannot be decided here: you may not list nodestates.herald.dev');
  });
});

describe('explain service', () => {
  test('--node and --peer restrict the output and refuse unknown names', async () => {
    const one = await explain(web, '--node', 'node2', '--peer', 'tor1-v4', '-o', 'json');
    const { nodes } = JSON.parse(one.stdout) as { nodes: { node: string; sessions: { peer: string }[] }[] };
    expect(nodes.map(({ node, sessions }) => [node, sessions.map(({ peer }) => peer)])).toEqual([['node2', ['tor1-v4']]]);
    expect(await explain(web, '--node', 'x')).toMatchObject({
      code: 1,
      stderr: 'herald: there is no node x: the nodes are node1, node2, node3\n',
    });
    expect((await explain(web, '--peer', 'x')).stderr).toContain('no node has a session with a BGPPeer x');
  });
});
