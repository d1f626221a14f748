import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { nodePlan } from '../lab/address-plan.ts';
import { Frr } from '../lab/frr.ts';
import type { Topology } from '../lab/topology.ts';
import { until } from '../lab/until.ts';
import { ClusterBed, herald } from './cluster-bed.ts';
import { blocksOf } from './blocks.ts';
import { follow, root } from './follow.ts';
import { pagesOf } from './pages.ts';

/**
 * The network of the pages about routers: nodes in 10.1.0.0/24 and fd00:1::/64, and the router at .1 with eth1. The reader is at the
 * router, which starts with an empty configuration.
 */
const nodes = ['node1', 'node2'] as const;
const indexOf = (node: string): number => Number(node.replace('node', ''));
const last = (node: string): number => 10 + indexOf(node);

const network: Topology = {
  machines: [
    { name: 'router', kind: 'router', bridges: [{ name: 'eth1', addresses: ['10.1.0.1/24', 'fd00:1::1/64'] }] },
    ...nodes.map((name) => {
      const { internal } = nodePlan(indexOf(name));
      // Pods answer by these addresses of their node.
      const loopback = [`${internal.ipv4}/32`, `${internal.ipv6}/128`];
      const others = nodes.flatMap((other) => {
        const { podCidr } = nodePlan(indexOf(other));
        return other === name ? [] : [`${podCidr.ipv4} via 10.1.0.${last(other)}`, `${podCidr.ipv6} via fd00:1::${last(other)}`];
      });
      return { name, kind: 'node', loopback, routes: ['default via 10.1.0.1', 'default via fd00:1::1', ...others] } as const;
    }),
  ],
  links: nodes.map((name) => [
    { machine: 'router', interface: name, bridge: 'eth1' },
    { machine: name, interface: 'eth0', addresses: [`10.1.0.${last(name)}/24`, `fd00:1::${last(name)}/64`] },
  ]),
  pods: nodes.map((node, index) => ({ name: `web-${index + 1}`, node })),
};

/** A Service with a pod on each node. */
const objects: readonly object[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
  ...nodes.map((name, index) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    spec: { podCIDR: `10.244.${index + 1}.0/24`, podCIDRs: [`10.244.${index + 1}.0/24`, `fd00:244:${index + 1}::/64`] },
    status: { addresses: [{ type: 'InternalIP', address: `10.1.0.${last(name)}` }] },
  })),
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'shop', name: 'web' },
    spec: {
      type: 'LoadBalancer',
      loadBalancerClass: 'herald.dev/herald',
      ipFamilyPolicy: 'RequireDualStack',
      ports: [{ port: 80, targetPort: 8080 }],
    },
  },
  ...(['IPv4', 'IPv6'] as const).map((addressType) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'shop', name: `web-${addressType.toLowerCase()}`, labels: { 'kubernetes.io/service-name': 'web' } },
    addressType,
    ports: [{ port: 8080, protocol: 'TCP', name: '' }],
    endpoints: nodes.map((nodeName, index) => ({
      addresses: [addressType === 'IPv4' ? `10.244.${index + 1}.10` : `fd00:244:${index + 1}::10`],
      nodeName,
      conditions: { ready: true },
    })),
  })),
];

let bed: ClusterBed;

beforeEach(async () => {
  bed = await ClusterBed.start({ topology: network, server: { machine: 'router', address: '10.1.0.1' }, reader: 'router' });
  await bed.installDefinitions();
  await bed.kubectl(['apply', '--server-side', '-k', 'manifests/base']);
  await bed.kubectl(['create', '-f', '-'], { input: objects.map((object) => stringify(object)).join('---\n') });
  bed.lab.machine('router').spawn([herald, 'controller', '--kubeconfig', bed.kubeconfig, '--socket', 'none'], { name: 'controller' });
  for (const node of nodes)
    bed.lab.node(node).spawn([herald, 'agent', '--node', node, '--kubeconfig', bed.kubeconfig, '--socket', 'none'], { name: 'agent' });
});

afterEach(async () => {
  await bed?.stop();
});

/** Adds a program for the reader that talks to the daemons of this router. */
function program(name: string, command: string): void {
  const path = join(bed.programs, name);
  writeFileSync(path, `#!/bin/sh\nexec ${command} "$@"\n`);
  chmodSync(path, 0o755);
}

/** Starts FRR without a configuration. The reader gives it one. */
async function startFrr(): Promise<void> {
  const router = bed.lab.machine('router');
  const frr = new Frr(router, new Map((['zebra', 'bgpd', 'staticd', 'bfdd'] as const).map((daemon) => [daemon, ''])));
  await frr.prepare();
  await frr.start();
  program('vtysh', `/usr/bin/vtysh -N ${router.namespace}`);
}

async function load(lines: string): Promise<void> {
  const router = bed.lab.machine('router');
  const file = join(await bed.lab.scratch('frr-lines'), 'frr.conf');
  writeFileSync(file, `${lines}\n`);
  const { code, stdout, stderr } = await router.exec(['/usr/bin/vtysh', '-N', router.namespace, '-f', file]);
  expect([code, stdout + stderr]).toEqual([0, expect.not.stringMatching(/Unknown|%|line \d+/)]);
}

/** Starts FRR with the lines that the page shows for `frr.conf`: the reader's router writes or loads them itself. */
const startLoaded = (page: string) => async (): Promise<void> => {
  await startFrr();
  const blocks = blocksOf(page, readFileSync(join(root, page), 'utf8'));
  const lines = blocks.find(({ before }) => /[Ww]rites? this into `frr\.conf`[^`]*(?:`[^`]*`[^`]*)?:\s*$/.test(before))?.text;
  if (lines === undefined) throw new RangeError(`${page} has no frr.conf`);
  await load(lines);
};

const loaded = ['opnsense', 'pfsense', 'unifi', 'vyos'].map((name) => `docs/how-to/peer-with-${name}.md`);

const daemons: Readonly<Record<string, () => Promise<void>>> = {
  'docs/how-to/peer-with-frr.md': startFrr,
  'docs/how-to/peer-with-openwrt.md': startFrr,
  ...Object.fromEntries(loaded.map((page) => [page, startLoaded(page)])),
  'docs/how-to/peer-with-bird.md': async () => {
    const router = bed.lab.machine('router');
    const directory = await bed.lab.scratch('bird');
    writeFileSync(join(directory, 'bird.conf'), 'router id 10.1.0.1;\nprotocol device { }\n');
    const socket = join(directory, 'bird.ctl');
    router.spawn(['/usr/sbin/bird', '-f', '-c', join(directory, 'bird.conf'), '-s', socket], { name: 'bird' });
    program('birdc', `/usr/sbin/birdc -s ${socket}`);
    await until('BIRD answers', async () => (await router.exec(['/usr/sbin/birdc', '-s', socket, 'show', 'status'])).code === 0, 60_000);
  },
};

test.each(pagesOf('router'))('%s', async (page) => {
  await daemons[page]?.();
  expect(await follow(page, bed)).toBeGreaterThan(0);
});

/** One connection of iBGP for each node, as on the page about RouterOS, with FRR in its place. */
const bothFamilies = `
router bgp 64512
 bgp router-id 10.1.0.1
 no bgp default ipv4-unicast
${nodes.map((node) => ` neighbor fd00:1::${last(node)} remote-as 64512\n neighbor fd00:1::${last(node)} passive\n neighbor fd00:1::${last(node)} bfd`).join('\n')}
${['ipv4', 'ipv6'].map((family) => ` address-family ${family} unicast\n  maximum-paths ibgp 16\n${nodes.map((node) => `  neighbor fd00:1::${last(node)} activate`).join('\n')}\n exit-address-family`).join('\n')}
exit
`;

test('docs/how-to/peer-with-mikrotik.md: one session of iBGP with an IPv6 address carries both families', async () => {
  await startFrr();
  await load(bothFamilies);
  const wanted = new Set(['BGPPeer/mikrotik', 'BFDProfile/nodes', 'IPAddressPool/public', 'BGPAdvertisement/both-families']);
  const page = 'docs/how-to/peer-with-mikrotik.md';
  const manifests = blocksOf(page, readFileSync(join(root, page), 'utf8'))
    .filter(({ info }) => info === 'yaml')
    .flatMap(({ text }) => text.split(/^---$/m))
    .filter((text) => wanted.has(/^kind: (\w+)\nmetadata: \{ name: ([\w-]+)/m.exec(text)?.slice(1).join('/') ?? ''));
  expect(manifests).toHaveLength(wanted.size);
  await bed.kubectl(['apply', '-f', '-'], { input: manifests.join('---\n') });

  const router = bed.lab.machine('router');
  for (const [family, prefix, ways] of [
    ['-4', '198.51.100.1', ['via 10.1.0.11', 'via 10.1.0.12']],
    ['-6', '2001:db8:100::', ['via fd00:1::11', 'via fd00:1::12']],
  ] as const)
    await until(`the router has both nodes for ${prefix}`, async (note) => {
      const { stdout } = await router.exec(['ip', family, 'route', 'show', prefix]);
      note(stdout);
      return ways.every((way) => stdout.includes(`${way} `));
    });
  const summary = await router.exec(['/usr/bin/vtysh', '-N', router.namespace, '-c', 'show bgp ipv4 unicast summary json']);
  const { peers } = JSON.parse(summary.stdout) as { readonly peers: Readonly<Record<string, { readonly state: string }>> };
  expect(Object.entries(peers).map(([name, { state }]) => [name, state])).toEqual([
    ['fd00:1::11', 'Established'],
    ['fd00:1::12', 'Established'],
  ]);
  for (const url of ['http://198.51.100.1/', 'http://[2001:db8:100::]/'])
    expect((await router.exec(['curl', '-sS', '-m', '2', url])).stdout).toContain('"pod":"web-');
});
