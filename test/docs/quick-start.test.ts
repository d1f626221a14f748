import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { Frr } from '../lab/frr.ts';
import { bgpdConfig } from '../lab/frr-config.ts';
import { programPath } from '../conformance/programs.ts';
import { run } from '../lab/command.ts';
import { ClusterBed } from './cluster-bed.ts';
import { follow, root } from './follow.ts';
import { homeNetwork, nodeObject, nodes, podAddress } from './home-lab-bed.ts';
import { Kubelets } from './kubelets.ts';
import { pagesOf } from './pages.ts';

/** The router of the page accepts a session from each node. */
const bgpd = bgpdConfig({ asn: 64500, routerId: '192.168.1.1', neighbors: [], listen: { asn: 64512, prefixes: ['192.168.1.0/24'] } });

let bed: ClusterBed;
let kubelets: Kubelets | undefined;

beforeEach(async () => {
  const topology = homeNetwork({ addresses: ['192.168.1.1/24'], clientRoutes: ['default via 192.168.1.1'], podPorts: [80] });
  // No kubelet renews a Lease, so these controllers would delete the pods.
  const controllerManagerArguments = ['--controllers=*,-node-lifecycle-controller,-taint-eviction-controller'];
  const server = { machine: 'switch', address: '192.168.1.2' };
  bed = await ClusterBed.start({ topology, server, controllerManager: true, controllerManagerArguments });
  const frr = new Frr(
    bed.lab.machine('switch'),
    new Map([
      ['zebra', ''],
      ['bgpd', bgpd],
    ] as const),
  );
  await frr.prepare();
  await frr.start();
  await startNodes();
});

afterEach(async () => {
  await kubelets?.stop();
  await bed?.stop();
});

async function startNodes(): Promise<void> {
  await bed.kubectl(['create', '-f', '-'], { input: nodes.map((node) => stringify(nodeObject(node))).join('---\n') });
  kubelets = new Kubelets(bed, nodes, podAddress);
}

/** An empty cluster, as at the beginning of the page. */
async function renew(): Promise<void> {
  await kubelets?.stop();
  await bed.startCluster();
  await startNodes();
}

/** Puts the files of a release into the reader's directory. */
async function download(directory: string): Promise<void> {
  await run([programPath('helm'), 'package', join(root, 'manifests/chart'), '--destination', directory]);
}

test.each(pagesOf('quickStart'))('%s', async (page) => {
  const { entrance, programs, variables, checkout } = bed;
  expect(await follow(page, { entrance, programs, variables, checkout, renew }, download)).toBeGreaterThan(0);
});
