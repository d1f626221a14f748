import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { importCommand } from '../../../../../src/cli/commands/import/import-command.ts';
import { parseObject } from '../../../../../src/model/parse.ts';
import { FakeApiServer } from '../../../kube/fake-api-server.ts';
import { inProcess } from '../../in-process.ts';
import { discard, root, scratch, type Outcome } from '../../program.ts';

const installation = join(root, 'examples/metallb');
const importing = (...options: readonly string[]): Promise<Outcome> => inProcess(importCommand, ['metallb', ...options]);

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const documents = (text: string): Manifest[] => parseAllDocuments(text).map((document) => document.toJS() as Manifest);
const named = ({ kind, metadata: { name } }: Manifest): string => `${kind}/${name}`;

let directory: string;

beforeEach(async () => {
  directory = await scratch();
});

afterEach(() => discard(directory));

async function file(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text);
  return path;
}

const pool = 'apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: {name: a, namespace: lb}\nspec: {addresses: [192.0.2.0/24]}\n';

describe('herald import metallb of a whole installation', () => {
  test('import prints manifests that Herald reads, with names and labels, referenced objects first', async () => {
    const { stdout } = await importing('-f', installation);
    const found = documents(stdout);
    expect(found.map(named)).toEqual([
      'Community/names',
      'BFDProfile/fast',
      'IPAddressPool/production',
      'IPAddressPool/partners',
      'BGPPeer/tor1',
      'BGPPeer/tor2',
      'BGPAdvertisement/production',
      'BGPAdvertisement/partners',
      'L2Advertisement/office',
    ]);
    for (const manifest of found) expect([named(manifest), parseObject(manifest).problems]).toEqual([named(manifest), []]);
    expect(found[2]).toMatchObject({ metadata: { labels: { tier: 'edge' } }, spec: { avoidBuggyIPs: true } });
    // Readers of YAML 1.1 would take this for a number in base 60.
    expect(stdout).toContain('"64512:10"');
  });

  test('the report lists objects by file and line, then how Services request addresses', async () => {
    const { stderr, code } = await importing('-f', installation);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^exact: L2Advertisement\.metallb\.io\/metallb-system\/office \(.*installation\.yaml:\d+\)$/m);
    expect(stderr).toContain('exact: BGPPeer.metallb.io/metallb-system/tor1');
    expect(stderr).toContain(
      'kubectl annotate service -n partners api herald.dev/address-pool=partners herald.dev/load-balancer-ips=192.0.2.201 herald.dev/allow-shared-ip=api',
    );
    expect(stderr).toContain('2 Services of type LoadBalancer without a class');
    expect(stderr).not.toContain('example-only');
  });

  test('-o json prints the report as data, with the annotations that Services need', async () => {
    const shared = await file(
      'services.yaml',
      ['a', 'b']
        .map(
          (namespace) =>
            `apiVersion: v1\nkind: Service\nmetadata: {name: dns, namespace: ${namespace}, annotations: {metallb.io/allow-shared-ip: k}}\nspec: {type: LoadBalancer, clusterIP: 10.96.0.10, ports: [{port: 53}]}\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}\n`,
        )
        .join('---\n'),
    );
    const { stdout, stderr, code } = await importing('-f', await file('a.yaml', pool), '-f', shared, '-o', 'json');
    const admits = (namespace: string) => ({ annotations: { 'herald.dev/allow-shared-ip-namespaces': namespace } });
    expect(JSON.parse(stdout)).toMatchObject({
      objects: [{ object: 'IPAddressPool.metallb.io/lb/a', verdict: 'exact', remarks: [{ level: 'note', field: 'spec' }] }],
      services: [
        { service: 'a/dns', ...admits('b') },
        { service: 'b/dns', ...admits('a') },
      ],
      classes: { '': 2 },
      problems: [],
    });
    expect([stderr, code]).toEqual(['', 2]);
  });

  test('-o report prints only the report, and -f - reads standard input', async () => {
    const child = importingFrom(readFileSync(join(installation, 'installation.yaml'), 'utf8'), '-o', 'report');
    const { stdout, stderr, code } = await child;
    expect(stdout).toContain('L2Advertisement.metallb.io/metallb-system/office (standard input:');
    expect(stdout).toMatch(/9 objects: 9 exact, 0 differs, 0 refused\n$/);
    expect([stderr, code]).toEqual(['', 0]);
  });
});

describe('exit status of herald import metallb', () => {
  test.each<[string, number, string, string]>([
    ['equal objects', 0, pool, 'exact: IPAddressPool.metallb.io/lb/a'],
    ['differing objects', 2, pool.replace('spec: {', 'spec: {serviceAllocation: {priority: -1}, '), 'differs: '],
    ['a refused object', 1, pool.replace('192.0.2.0/24', '127.0.0.0/8'), 'refused: '],
    ['a name that appears twice', 1, `${pool}---\n${pool}`, 'appears twice'],
    [
      'an object of another namespace',
      1,
      `${pool}---\n${pool.replace('namespace: lb', 'namespace: metallb-system')}`,
      'use --namespace lb',
    ],
    [
      'a missing alias',
      2,
      `${pool}---\napiVersion: metallb.io/v1beta1\nkind: BGPAdvertisement\nmetadata: {name: a, namespace: lb}\nspec: {communities: [gold]}\n`,
      'names community "gold"',
    ],
    ['a broken file', 1, 'a: [', 'problem: '],
    [
      'raw FRR configuration',
      1,
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bgpextras, namespace: metallb-system}\ndata: {extras: x}\n',
      'is configuration of FRR',
    ],
  ])('import of %s exits with %i', async (_, status, text, line) => {
    const { code, stderr } = await importing('-f', await file('a.yaml', text));
    expect(stderr).toContain(line);
    expect(code).toBe(status);
  });

  test('a mistake on the command line exits with 64, and files that cannot be imported with 1', async () => {
    for (const [status, options] of [
      [64, ['-o', 'xml']],
      [64, ['-f', 'a', '--kubeconfig', 'b']],
      [1, ['-f', join(directory, 'none')]],
      [1, ['-f', directory]],
    ] as const) {
      const { code, stderr } = await importing(...options);
      expect([code, stderr]).toEqual([status, expect.not.stringContaining('    at ')]);
    }
  });
});

describe('herald import metallb of a cluster', () => {
  let server: FakeApiServer;

  beforeEach(async () => {
    server = await FakeApiServer.start();
    await file(
      'kubeconfig',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'a',
        contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
        clusters: [{ name: 'a', cluster: { server: server.url.href, 'insecure-skip-tls-verify': true } }],
        users: [{ name: 'a', user: { token: 'secret-token' } }],
      }),
    );
    for (const manifest of documents(readFileSync(join(installation, 'installation.yaml'), 'utf8'))) {
      const { apiVersion, kind, metadata, ...rest } = manifest as Manifest & { apiVersion: string };
      const plural = `${kind.toLowerCase()}${kind === 'Community' ? '' : 's'}`.replace('community', 'communities');
      if (kind !== 'Secret') server.put(`/apis/${apiVersion}/${plural}`, metadata.name, { metadata, ...rest }, 'metallb-system');
    }
    const web = { spec: { type: 'LoadBalancer', clusterIP: '10.96.0.10', ports: [{ port: 80 }] } };
    server.put('/api/v1/services', 'web', { ...web, metadata: { annotations: { 'metallb.universe.tf/address-pool': "it's" } } }, 'shop');
  });

  afterEach(() => server.stop());

  const cluster = (...options: readonly string[]): Promise<Outcome> => importing('--kubeconfig', join(directory, 'kubeconfig'), ...options);

  test('import reads the cluster and changes nothing', async () => {
    const { stdout, stderr, code } = await cluster();
    expect(documents(stdout).map(named)).toContain('IPAddressPool/production');
    expect(stdout).not.toMatch(/uid|resourceVersion/);
    expect(stderr).toContain(String.raw`kubectl annotate service -n shop web 'herald.dev/address-pool=it'\''s'`);
    expect(code).toBe(1);
    expect(server.methods).toEqual(new Set(['GET']));
  });

  test('a field that a list replaces goes with the same command', async () => {
    const fields = { type: 'LoadBalancer', clusterIP: '10.96.0.11', loadBalancerIP: '192.0.2.7', ports: [{ port: 80 }] };
    const annotations = { 'kube-vip.io/loadbalancerIPs': '192.0.2.7,2001:db8::7' };
    server.put('/api/v1/services', 'api', { spec: fields, metadata: { annotations } }, 'shop');
    const { stderr } = await cluster();
    const patch = '{"metadata":{"annotations":{"herald.dev/load-balancer-ips":"192.0.2.7,2001:db8::7"}},"spec":{"loadBalancerIP":null}}';
    expect(stderr).toContain(`  kubectl patch service -n shop api --type merge --patch '${patch}'`);
  });

  test('import works without some CRDs, and names the namespace when it finds nothing', async () => {
    server.absent.add('/apis/metallb.io/v1beta1/namespaces/metallb-system/bfdprofiles');
    expect(documents((await cluster()).stdout).map(named)).not.toContain('BFDProfile/fast');
    const { code, stderr } = await cluster('--namespace', 'lb');
    expect([code, stderr]).toEqual([1, expect.stringContaining('no object in namespace lb of this cluster: use --namespace')]);
  });

  test('import names what it may not read', async () => {
    server.forbidden.add('/apis/metallb.io/v1beta2/namespaces/metallb-system/bgppeers');
    const { code, stderr } = await cluster();
    expect([code, stderr]).toEqual([1, expect.stringContaining('403')]);
  });
});

function importingFrom(input: string, ...options: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(join(root, 'bin/herald'), ['import', 'metallb', '-f', '-', ...options], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}
