import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { importCommand } from '../../../../../src/cli/commands/import/import-command.ts';
import { FakeApiServer } from '../../../kube/fake-api-server.ts';
import { inProcess } from '../../in-process.ts';
import { discard, scratch, type Outcome } from '../../program.ts';

let directory: string;
let server: FakeApiServer;

beforeEach(async () => {
  directory = await scratch();
  server = await FakeApiServer.start();
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: server.url.href, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'a', user: { token: 'token' } }],
  };
  await writeFile(join(directory, 'kubeconfig'), JSON.stringify(config));
  serves({});
  for (const [namespace, name] of [
    ['metallb-system', 'config'],
    ['metallb-system', 'bgpextras'],
    ['metallb-system', 'metallb-excludel2'],
    ['kube-system', 'kubevip'],
  ] as const)
    server.absent.add(`/api/v1/namespaces/${namespace}/configmaps/${name}`);
});

afterEach(async () => {
  await server.stop();
  await discard(directory);
});

const importing = (...words: readonly string[]): Promise<Outcome> =>
  inProcess(importCommand, ['--from-cluster', '--kubeconfig', join(directory, 'kubeconfig'), ...words]);

/** Answers discovery with the kinds of each version, "group/version" by plural. */
function serves(versions: Readonly<Record<string, Readonly<Record<string, string>>>>): void {
  const byGroup = Map.groupBy(Object.keys(versions), (version) => version.slice(0, version.indexOf('/')));
  const groups = [...byGroup].map(([name, all]) => ({
    name,
    versions: all.map((groupVersion) => ({ groupVersion })),
    preferredVersion: { groupVersion: all[0] },
  }));
  server.texts.set('/apis', JSON.stringify({ kind: 'APIGroupList', groups }));
  for (const [version, kinds] of Object.entries(versions)) {
    const resources = Object.entries(kinds).flatMap(([name, kind]) => [
      { name, kind },
      { name: `${name}/status`, kind },
    ]);
    server.texts.set(`/apis/${version}`, JSON.stringify({ kind: 'APIResourceList', resources }));
  }
}

const service = (namespace: string, name: string, address: string): void =>
  server.put(
    '/api/v1/services',
    name,
    {
      spec: { type: 'LoadBalancer', clusterIP: '10.96.0.10', ports: [{ port: 80, protocol: 'TCP' }] },
      status: { loadBalancer: { ingress: [{ ip: address }] } },
    },
    namespace,
  );

const cilium = { ciliumloadbalancerippools: 'CiliumLoadBalancerIPPool', ciliumendpoints: 'CiliumEndpoint' };

test('import --from-cluster reads the groups that are installed, in the preferred version, and every Service', async () => {
  serves({ 'cilium.io/v2': cilium, 'cilium.io/v2alpha1': { ...cilium, ciliuml2announcementpolicies: 'CiliumL2AnnouncementPolicy' } });
  server.put('/apis/cilium.io/v2/ciliumloadbalancerippools', 'main', { spec: { blocks: [{ cidr: '192.0.2.0/24' }] } });
  server.put('/apis/cilium.io/v2alpha1/ciliuml2announcementpolicies', 'all', { spec: { loadBalancerIPs: true } });
  service('shop', 'web', '192.0.2.7');
  const { code, stdout, stderr } = await importing('-o', 'report');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('exact: CiliumLoadBalancerIPPool/main');
  expect(stdout).toContain('exact: CiliumL2AnnouncementPolicy/all');
  expect(stdout).toContain('shop/web: has 192.0.2.7; the same of IPAddressPool main while its status has it: pin it');
  expect(stdout).toContain('kubectl annotate service -n shop web herald.dev/load-balancer-ips=192.0.2.7');
  expect(server.paths.filter((path) => /ciliumendpoints|v2alpha1.ciliumload|projectcalico|purelb|metallb.io/.test(path))).toEqual([]);
  expect(server.methods).toEqual(new Set(['GET']));
});

test('import --from-cluster reads the other programs', async () => {
  serves({
    'metallb.io/v1beta1': { ipaddresspools: 'IPAddressPool', servicel2statuses: 'ServiceL2Status' },
    'projectcalico.org/v3': { bgppeers: 'BGPPeer' },
    'crd.projectcalico.org/v1': { bgppeers: 'BGPPeer' },
    'purelb.io/v2': { servicegroups: 'ServiceGroup' },
    'network.kubesphere.io/v1alpha2': { eips: 'Eip' },
  });
  server.put('/apis/metallb.io/v1beta1/ipaddresspools', 'a', { spec: { addresses: ['192.0.2.0/28'] } }, 'metallb-system');
  for (const group of ['projectcalico.org/v3', 'crd.projectcalico.org/v1'])
    server.put(`/apis/${group}/bgppeers`, 'tor', { spec: { peerIP: '192.0.2.254', asNumber: 64_512 } });
  server.put(
    '/apis/purelb.io/v2/servicegroups',
    'b',
    { spec: { local: { v4pools: [{ pool: '198.51.100.0/28', subnet: '198.51.100.0/24', aggregation: '/32' }] } } },
    'purelb',
  );
  server.put('/apis/network.kubesphere.io/v1alpha2/eips', 'c', { spec: { address: '203.0.113.0/28' } });
  server.put(
    '/apis/apps/v1/daemonsets',
    'kube-router',
    { spec: { template: { spec: { containers: [{ image: 'cloudnativelabs/kube-router', args: ['--cluster-asn=64512'] }] } } } },
    'kube-system',
  );
  server.put('/apis/apps/v1/daemonsets', 'other', { spec: { template: { spec: { containers: [{ image: 'other' }] } } } }, 'kube-system');
  const { stdout } = await importing('-o', 'json');
  const { objects } = JSON.parse(stdout) as { readonly objects: readonly { readonly tool: string; readonly object: string }[] };
  expect(objects.map(({ tool, object }) => `${tool}: ${object.replace(/\..*\//, '/')}`)).toEqual([
    'MetalLB: IPAddressPool/a',
    'Calico: BGPPeer/tor',
    'PureLB: ServiceGroup/purelb/b',
    'kube-router: DaemonSet/kube-system/kube-router',
    'OpenELB: Eip/c',
  ]);
});

test('import --from-cluster says what it may not read, and nothing of groups that are not installed', async () => {
  serves({ 'cilium.io/v2': cilium });
  for (const path of ['/apis/cilium.io/v2/ciliumloadbalancerippools', '/apis/purelb.io/v2/servicegroups', '/apis/apps/v1/daemonsets'])
    server.forbidden.add(path);
  service('shop', 'web', '192.0.2.7');
  const { code, stdout } = await importing('-o', 'report');
  expect(code).toBe(3);
  expect(stdout.split('\n').filter((line) => line.startsWith('problem: '))).toEqual([
    'problem: /apis/cilium.io/v2/ciliumloadbalancerippools of the cluster was not read: you may not. Its objects are not in this report',
    'problem: /apis/apps/v1/daemonsets of the cluster was not read: you may not. Its objects are not in this report',
  ]);
  expect(stdout).toContain('shop/web: has 192.0.2.7; not known: no pool was imported');
});

test('import --from-cluster reads a ConfigMap of kube-vip and one of its static Pods', async () => {
  const map = '/api/v1/namespaces/kube-system/configmaps/kubevip';
  server.absent.delete(map);
  server.texts.set(
    map,
    JSON.stringify({ metadata: { name: 'kubevip', namespace: 'kube-system' }, data: { 'range-global': '192.0.2.1-192.0.2.9' } }),
  );
  for (const node of ['a', 'b'])
    server.put(
      '/api/v1/pods',
      `kube-vip-${node}`,
      {
        metadata: { ownerReferences: [{ kind: 'Node', name: node }] },
        spec: {
          containers: [
            {
              image: 'ghcr.io/kube-vip/kube-vip',
              env: [
                { name: 'vip_arp', value: 'true' },
                { name: 'svc_enable', value: 'true' },
              ],
            },
          ],
        },
      },
      'kube-system',
    );
  const { stdout } = await importing('-o', 'report');
  expect(stdout).toContain('kube-vip: 2 objects');
  expect(stdout).toContain('exact: ConfigMap/kube-system/kubevip');
});

test('a cluster without any of these programs is not recognised', async () => {
  const { code, stderr } = await importing();
  expect([code, stderr]).toEqual([1, expect.stringContaining('the cluster has no configuration of MetalLB')]);
});

test('options of a cluster without --from-cluster, and paths beside it, are mistakes', async () => {
  for (const words of [
    ['--kubeconfig', 'a', 'b.yaml'],
    ['--from-cluster', 'b.yaml'],
  ])
    expect(await inProcess(importCommand, words)).toMatchObject({ code: 64, stderr: expect.stringContaining('--from-cluster') as string });
});

test('import --from-cluster leaves kube-proxy alone, whose HeraldConfig would replace it', async () => {
  const container = { name: 'a', image: 'registry.k8s.io/kube-proxy:v1.36.2', args: ['--proxy-mode=ipvs'] };
  server.put('/apis/apps/v1/daemonsets', 'kube-proxy', { spec: { template: { spec: { containers: [container] } } } }, 'kube-system');
  const { code, stdout, stderr } = await importing();
  expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('the cluster has no configuration of MetalLB')]);
});
