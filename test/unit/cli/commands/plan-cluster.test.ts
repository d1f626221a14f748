import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { CommandContext } from '../../../../src/cli/context/command-context.ts';
import { planCommand } from '../../../../src/cli/commands/plan-command.ts';
import type { Provider } from '../../../../src/controller/provider.ts';
import { reason } from '../../../../src/model/reasons.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import { FabricCluster, listPath } from '../fabric-cluster.ts';
import { inProcess } from '../in-process.ts';
import { root, type Outcome } from '../program.ts';

let cluster: FabricCluster;
beforeEach(async () => {
  cluster = await FabricCluster.start();
  // As a controller leaves it: without a change there is nothing to do.
  record('web', '198.51.100.10', '2001:db8:100::10');
  record('ledger', '198.51.100.11', '2001:db8:100::11');
});
afterEach(() => cluster.stop());

function record(name: string, ...addresses: readonly string[]): void {
  cluster.edit(name, () => ({ status: { loadBalancer: { ingress: addresses.map((ip) => ({ ip, ipMode: 'VIP' })) } } }));
}

async function plan(manifest: object | readonly object[], ...words: readonly string[]): Promise<Outcome> {
  return planned(manifest, words, {});
}

async function planned(manifest: object | readonly object[], words: readonly string[], changes: Partial<CommandContext>): Promise<Outcome> {
  const file = join(cluster.directory, 'proposed.yaml');
  const documents = Array.isArray(manifest) ? (manifest as object[]) : [manifest];
  await writeFile(file, documents.map((one) => `---\n${stringify(one)}`).join(''));
  return cluster.herald(planCommand, ['-f', file, ...words], changes);
}

const herald = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
});
const publicPool = { addresses: ['198.51.100.10-198.51.100.99', '2001:db8:100::10-2001:db8:100::99'] };
const tor1 = { myASN: 64_512, peerASN: 65_101, peerAddress: '10.1.0.1', holdTime: '3s', keepaliveTime: '1s', connectTime: '1s' };
const ledger = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'shop', name: 'ledger' },
  spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
};

describe('a plan of manifests for a cluster', () => {
  test('manifests that are applied already change nothing, and nothing is written', async () => {
    const outcome = await plan([herald('IPAddressPool', 'public', publicPool), herald('BGPPeer', 'tor1-v4', tor1), ledger]);
    expect(outcome).toEqual({ code: 0, stdout: 'Nothing would change.\n', stderr: '' });
    expect(cluster.server.methods).toEqual(new Set(['GET']));
  });

  test('plan keeps what the API server and others filled in: addresses, NodePorts, families', async () => {
    const { code, stdout } = await plan({ ...ledger, spec: { ...ledger.spec, externalTrafficPolicy: 'Cluster' } });
    expect(code).toBe(2);
    expect(stdout).not.toContain('Addresses');
    expect(stdout).toContain('  + 198.51.100.11/32 to tor1-v4  on node3\n');
    expect(stdout).toContain('  ~ 198.51.100.11 TCP 80  on node1, node2, node3\n');
    expect(stdout).not.toMatch(/ - .* TCP 80/);
  });

  test('plan shows a session that resets, with the field, and one that changes without a reset', async () => {
    const reset = await plan(herald('BGPPeer', 'tor1-v4', { ...tor1, holdTime: '9s' }));
    expect(reset).toMatchObject({ code: 2, stdout: expect.stringContaining('  ! tor1-v4: reset (holdTime)  on node1, node2, node3\n') });
    const live = await plan(herald('BGPPeer', 'tor1-v4', { ...tor1, connectTime: '2s' }));
    expect(live.stdout).toContain('  ~ tor1-v4: changes without a reset (connectRetryTime)  on node1, node2, node3\n');
  });

  test('a new Service gets the next address; the API server chooses the rest', async () => {
    const tea = { ...ledger, metadata: { namespace: 'shop', name: 'tea' }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } };
    const { code, stdout } = await plan(tea);
    expect(code).toBe(2);
    expect(stdout).toContain('  shop/tea: none -> 198.51.100.12\n');
    expect(stdout).not.toMatch(/problem|warning/);
  });

  test('--prune deletes configuration that no manifest has, and nothing else', async () => {
    const { stdout } = await plan(herald('IPAddressPool', 'public', publicPool), '--prune');
    expect(stdout).toContain('  - tor1-v4: stop  on node1, node2, node3\n');
    expect(stdout).not.toContain('shop/web: 198.51.100.10 -> none');
    expect((await plan(herald('IPAddressPool', 'public', publicPool))).code).toBe(0);
  });

  test('a mistake is a problem with its place, and the object is compared as it is now', async () => {
    const { code, stdout } = await plan(herald('BGPPeer', 'tor1-v4', { ...tor1, holdTiem: '9s' }));
    expect(code).toBe(1);
    expect(stdout).toMatch(/^problem: .*proposed\.yaml:\d+: BGPPeer\/tor1-v4: spec\.holdTiem: .*did you mean holdTime\?/);
    expect(stdout).toContain('Nothing would change in the part that could be read.');
  });

  test('an object that the API server would refuse is a problem', async () => {
    cluster.edit('ledger', (service) => ({ spec: { ...(service['spec'] as object), loadBalancerClass: 'herald.dev/herald' } }));
    const { code, stdout } = await plan({ ...ledger, spec: { ...ledger.spec, loadBalancerClass: 'herald.dev/aws' } });
    expect(code).toBe(1);
    expect(stdout).toContain('Service/shop/ledger: spec.loadBalancerClass: the API server refuses this: the field is immutable');
  });

  test('plan without the right to read what it needs is an error', async () => {
    cluster.server.forbidden.add(listPath({ apiVersion: 'herald.dev/v1alpha1', kind: 'IPAddressPool' }));
    const { code, stdout } = await plan(herald('BGPPeer', 'tor1-v4', tor1));
    expect(code).toBe(1);
    expect(stdout).toContain('not read: ipaddresspools.herald.dev');
    expect(stdout).toContain('the plan may be incomplete');
  });
});

describe('--fail-on', () => {
  const smaller = herald('IPAddressPool', 'public', { addresses: ['198.51.100.50-198.51.100.99', '2001:db8:100::50-2001:db8:100::99'] });

  test.each<[string, object, string]>([
    ['session-reset', herald('BGPPeer', 'tor1-v4', { ...tor1, holdTime: '9s' }), 'refused: session-reset: node1 tor1-v4 (holdTime)\n'],
    [
      'session-stop',
      herald('BGPPeer', 'tor1-v4', { ...tor1, nodeSelectors: [{ matchLabels: { rack: 'z' } }] }),
      'refused: session-stop: node1 tor1-v4\n',
    ],
    [
      'route-withdrawn',
      herald('BGPAdvertisement', 'services', { nodeSelectors: [{ matchLabels: { rack: 'b' } }] }),
      'refused: route-withdrawn: node1 198.51.100.10/32 to tor1-v4\n',
    ],
    [
      'lost-address',
      { ...ledger, spec: { type: 'ClusterIP', ports: ledger.spec.ports } },
      'refused: lost-address: shop/ledger 198.51.100.11, 2001:db8:100::11 -> none\n',
    ],
    [
      'moved-address',
      { ...ledger, metadata: { ...ledger.metadata, annotations: { 'herald.dev/load-balancer-ips': '198.51.100.70,2001:db8:100::70' } } },
      'refused: moved-address: shop/ledger 198.51.100.11, 2001:db8:100::11 -> 198.51.100.70, 2001:db8:100::70\n',
    ],
    [
      'no-address',
      { ...ledger, metadata: { namespace: 'shop', name: 'tea', annotations: { 'herald.dev/address-pool': 'none' } } },
      'refused: no-address: shop/tea\n',
    ],
    [
      'rule-removed',
      { ...ledger, spec: { type: 'ClusterIP', ports: ledger.spec.ports } },
      'refused: rule-removed: node1 198.51.100.11 TCP 80\n',
    ],
  ])('--fail-on %s exits with 3, and other kinds with 2', async (kind, manifest, told) => {
    const refused = await plan(manifest, '--fail-on', `aws-call, ${kind}`);
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining(told) });
    const others = await plan(manifest, '--fail-on', 'aws-call');
    expect(others).toMatchObject({ code: 2, stderr: '' });
  });

  test('an address that no pool has any more stays, so nothing fails', async () => {
    expect(await plan(smaller, '--fail-on', 'moved-address,lost-address')).toMatchObject({ code: 2, stderr: '' });
  });

  test('--fail-on tells AWS calls from deletions, and a failed preview is an error', async () => {
    const action = (operation: string): object => ({ id: 'load balancer', operation, reason: 'it is gone', input: {} });
    const aws = (answer: object): Partial<CommandContext> => ({
      providers: async () => [
        {
          name: 'aws',
          claim: () => ({ mine: true }),
          preview: async () => ({ observed: [], desired: [], actions: [], waits: [], reasons: [], ...answer }),
        } as unknown as Provider,
      ],
    });
    const words = ['--aws-cluster-name', 'a', '--fail-on', 'aws-delete'];
    const deletes = await planned(ledger, words, aws({ actions: [action('elbv2:DeleteLoadBalancer')] }));
    expect(deletes).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('refused: aws-delete: shop/ledger elbv2:DeleteLoadBalancer load balancer\n'),
    });
    expect((await planned(ledger, words, aws({ actions: [action('elbv2:CreateLoadBalancer')] }))).code).toBe(2);
    const failed = reason('AwsCredentials', { message: 'none was found' });
    const blind = await planned(ledger, words, aws({ reasons: [failed], failed }));
    expect(blind).toMatchObject({ code: 1, stdout: expect.stringContaining('none was found') });
    expect(blind.stdout).not.toContain('    at ');
  });

  test('plan deletes AWS resources of a Service that another provider will serve', async () => {
    const isBalancer = (service: Service): boolean => service.type === 'LoadBalancer';
    const asked: string[] = [];
    const aws = {
      name: 'aws',
      claim: (service: Service) => ({ mine: isBalancer(service) }),
      holds: (_: string, service: Service | undefined) => service?.metadata.finalizers?.includes('herald.dev/aws') === true,
      preview: async (key: string) => {
        asked.push(key);
        const actions = [{ id: 'load balancer', operation: 'elbv2:DeleteLoadBalancer', reason: 'no Service uses it', input: {} }];
        return { observed: [], desired: [], actions, waits: [], reasons: [] };
      },
    };
    const providers = async () =>
      [{ name: 'pools', claim: (one: Service) => ({ mine: !isBalancer(one) }), holds: () => false }, aws] as unknown as Provider[];
    cluster.edit('ledger', (service) => ({ metadata: { ...(service['metadata'] as object), finalizers: ['herald.dev/aws'] } }));
    const plain = { ...ledger, spec: { type: 'ClusterIP', ports: ledger.spec.ports } };
    const { code, stderr } = await planned(plain, ['--aws-cluster-name', 'a', '--fail-on', 'aws-delete'], { providers });
    expect([code, asked.includes('shop/ledger')]).toEqual([3, true]);
    expect(stderr).toContain('refused: aws-delete: shop/ledger elbv2:DeleteLoadBalancer load balancer\n');
  });

  test('an unknown kind of failure is a mistake that lists the known kinds', async () => {
    const { code, stderr } = await plan(ledger, '--fail-on', 'moved-addresses');
    expect(code).toBe(64);
    expect(stderr).toContain('"moved-addresses" is not one of them: write moved-address, lost-address');
  });
});

describe('plan without a cluster', () => {
  test('--offline plans manifests for a cluster that cannot be read', async () => {
    const tea = { ...ledger, spec: { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', ports: [{ port: 80 }] } };
    const file = join(cluster.directory, 'new.yaml');
    await writeFile(file, [tea, herald('IPAddressPool', 'public', publicPool)].map((one) => `---\n${stringify(one)}`).join(''));
    const { code, stdout } = await inProcess(planCommand, ['-f', file, '--offline']);
    expect(code).toBe(2);
    expect(stdout).toContain('shop/ledger: none -> 198.51.100.10\n');
  });

  test('plan without cluster or directory says what is missing', async () => {
    const { code, stderr } = await inProcess(planCommand, ['-f', join(root, 'examples/one-host')]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('no cluster was found')]);
  });

  test.each([
    ['-', 'none'],
    ['examples/fabric/20-herald.yaml', 'none'],
    ['-', 'examples/fabric'],
  ])('-f beside --source must be one directory: the message has a fix for %s beside %s', async (file, source) => {
    const { code, stderr } = await inProcess(planCommand, ['-f', file, '--source', source]);
    expect([code, stderr]).toEqual([
      64,
      'herald: with --source, -f is one directory, which replaces the other: put the manifests into one directory; for a cluster that cannot be read, use --offline instead of --source none\n',
    ]);
  });
});
