import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { planOf } from '../../cluster/cluster/description.ts';
import { dnsObjects } from '../../cluster/cluster/dns/objects.ts';
import { nodeFiles, type NodeEnvironment } from '../../cluster/cluster/node-files.ts';
import { serverNames, users } from '../../cluster/cluster/pki.ts';
import { clusterTopology, nodeTopology } from '../../cluster/cluster/topology.ts';

const environment: NodeEnvironment = {
  directory: '/var/tmp/cluster/node1',
  cgroup: '/hlabcd/node1',
  certificateAuthority: '/var/tmp/cluster/pki/ca.crt',
  runc: '/usr/sbin/runc',
  cniPlugins: '/usr/lib/cni',
  pauseImage: 'registry.example/pause:1',
  kubeProxyKubeconfig: '/var/tmp/cluster/pki/kube-proxy.kubeconfig',
};

function filesOf(families: 'ipv4' | 'ipv6' | 'dual', number = 1): ReadonlyMap<string, string> {
  const plan = planOf({ families, kubeProxy: 'iptables' });
  const [node] = plan.nodes.slice(number - 1);
  if (node === undefined) throw new Error(`no node ${number}`);
  return nodeFiles(plan, node, environment, 'iptables');
}

test.each([
  ['ipv4', ['ipv4'], 'https://172.30.0.1:6443'],
  ['ipv6', ['ipv6'], 'https://[fd00:30::1]:6443'],
  ['dual', ['ipv4', 'ipv6'], 'https://172.30.0.1:6443'],
] as const)('a cluster of %s has addresses of its families only', (families, keys, server) => {
  const plan = planOf({ families, kubeProxy: 'none' });
  expect(plan.server).toBe(server);
  const addresses = [plan.tor, plan.client, plan.serviceNetwork, ...plan.nodes.flatMap((node) => [node.address, node.podCidr])];
  for (const each of addresses) expect(Object.keys(each)).toEqual(keys);
});

test('a home client is a port of the node bridge, and the API server has its quick start address', () => {
  const plan = planOf({ families: 'ipv4', network: 'home', kubeProxy: 'none' });
  expect(plan.server).toBe('https://192.168.1.2:6443');
  expect(serverNames(plan)).toContain('IP:192.168.1.2');
  const { links, machines } = clusterTopology(plan);
  expect(links[0]).toEqual([
    { machine: 'client', interface: 'eth0', addresses: ['192.168.1.100/24'] },
    { machine: 'tor', interface: 'client', bridge: 'br0' },
  ]);
  expect(machines[0]).toMatchObject({ name: 'client', routes: ['default via 192.168.1.1'] });
  expect(machines[1]).toMatchObject({ name: 'tor', bridges: [{ name: 'br0', addresses: ['192.168.1.1/24', '192.168.1.2/24'] }] });
  const rack = clusterTopology(planOf({ families: 'ipv4', kubeProxy: 'none' }));
  expect(rack.links[0]?.[1]).toEqual({ machine: 'tor', interface: 'client', addresses: ['198.18.0.1/24'] });
});

test('a cluster has three nodes by default, and never more than the address plan has room for', () => {
  expect(planOf({ families: 'dual', kubeProxy: 'none' }).nodes.map(({ name }) => name)).toEqual(['node1', 'node2', 'node3']);
  expect(() => planOf({ families: 'dual', kubeProxy: 'none', nodes: 10 })).toThrow('1 to 9 nodes');
});

test('all pod CIDRs differ and each node has routes to those of the others', () => {
  const plan = planOf({ families: 'dual', kubeProxy: 'none' });
  const topology = clusterTopology(plan);
  const routes = topology.machines.find(({ name }) => name === 'node2')?.routes;
  expect(routes).toContain('10.77.1.0/24 via 172.30.0.11');
  expect(routes).toContain('fd00:77:0:3::/64 via fd00:30::13');
  expect(routes?.join()).not.toContain('10.77.2.0');
});

test('a rebooted node gets the machine and the link that it had', () => {
  const plan = planOf({ families: 'ipv6', kubeProxy: 'none' });
  const [, second] = plan.nodes;
  const whole = clusterTopology(plan);
  const part = nodeTopology(plan, second ?? expect.fail('no second node'));
  expect(whole.machines).toContainEqual(part.machines[0]);
  expect(whole.links).toContainEqual(part.links[0]);
});

test('pods of a dual-stack node get an address of each family from the CIDRs of the node', () => {
  const network = JSON.parse(filesOf('dual', 3).get('cni/10-bridge.conflist') ?? '');
  expect(network.plugins[0].ipam.ranges).toEqual([[{ subnet: '10.77.3.0/24' }], [{ subnet: 'fd00:77:0:3::/64' }]]);
});

test('the kubelet of an IPv6 cluster listens on IPv6 and uses DNS over IPv6', () => {
  const kubelet = parse(filesOf('ipv6').get('kubelet.yaml') ?? '');
  expect(kubelet).toMatchObject({ address: '::', clusterDNS: ['fd00:96::a'], cgroupRoot: '/hlabcd/node1' });
  expect(filesOf('ipv6').get('resolv.conf')).toBe('nameserver fd00:30::1\n');
});

test('containerd uses the pause image of the cluster, and no image is pulled from elsewhere', () => {
  expect(filesOf('ipv4').get('containerd.toml')).toContain('sandbox_image = "registry.example/pause:1"');
});

test('kube-proxy has the mode of the description', () => {
  expect(parse(filesOf('dual').get('kube-proxy.yaml') ?? '')).toMatchObject({ mode: 'iptables', clusterCIDR: '10.77.0.0/16,fd00:77::/48' });
});

test('the certificate of the API server covers its ClusterIPs', () => {
  const names = serverNames(planOf({ families: 'dual', kubeProxy: 'none' }));
  expect(names).toEqual(expect.arrayContaining(['IP:10.96.0.1', 'IP:fd00:96::1', 'IP:172.30.0.1', 'DNS:kubernetes.default.svc']));
});

test('each node has a user that NodeRestriction accepts', () => {
  const all = users(planOf({ families: 'ipv4', kubeProxy: 'none' }));
  expect(all.get('node2')).toBe('/O=system:nodes/CN=system:node:node2');
});

test('the Service of DNS has an EndpointSlice for each family', () => {
  const objects = dnsObjects(planOf({ families: 'dual', kubeProxy: 'none' })) as { kind: string; addressType?: string }[];
  expect(objects.map(({ kind, addressType }) => `${kind} ${addressType ?? ''}`.trim())).toEqual([
    'Service',
    'EndpointSlice IPv4',
    'EndpointSlice IPv6',
  ]);
});
