import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { version } from '../../src/model/objects/version.ts';
import { Frr } from '../lab/frr.ts';
import { bgpdConfig } from '../lab/frr-config.ts';
import { programPath } from '../conformance/programs.ts';
import { run } from '../lab/command.ts';
import { ClusterBed } from './cluster-bed.ts';
import { follow, root } from './follow.ts';
import { homeNetwork, nodeObject, nodes, podAddress } from './home-lab-bed.ts';
import { Kubelets } from './kubelets.ts';
import { pagesOf } from './pages.ts';
import { writeNpm, writeProgram } from './reader-programs.ts';
import { download } from './release-files.ts';

/** The router of the page accepts a session from each node. */
const bgpd = bgpdConfig({ asn: 64500, routerId: '192.168.1.1', neighbors: [], listen: { asn: 64512, prefixes: ['192.168.1.0/24'] } });

let bed: ClusterBed;
let kubelets: Kubelets | undefined;

beforeEach(async () => {
  const topology = homeNetwork({ addresses: ['192.168.1.1/24'], clientRoutes: ['default via 192.168.1.1'], podPorts: [80] });
  // No kubelet renews a Lease, so these controllers would delete the pods.
  const controllerManagerArguments = ['--controllers=*,-node-lifecycle-controller,-taint-eviction-controller'];
  const server = { machine: 'switch', address: '192.168.1.2' };
  // The page about the installation works in a checkout.
  bed = await ClusterBed.start({ topology, server, controllerManager: true, controllerManagerArguments, checkout: true });
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

/** The version that the page about upgrades upgrades to. */
const nextVersion = '0.3.0';

/** Installs what each page expects to be there. */
const prepared: Readonly<Record<string, (directory: string) => Promise<void>>> = {
  'docs/how-to/upgrade.md': async (directory) => {
    const chart = join(root, 'manifests/chart');
    await run([programPath('helm'), 'package', chart, '--version', nextVersion, '--app-version', nextVersion, '--destination', directory]);
    renameSync(join(directory, `herald-${nextVersion}.tgz`), join(directory, `herald-chart-${nextVersion}.tgz`));
    const values = ['--set', 'config.spec.services=all', '--set', 'apiServer=https://192.168.1.2:6443'];
    await bed.helm(['install', 'herald', chart, '--namespace', 'herald-system', '--create-namespace', ...values]);
    await bed.kubectl(['apply', '-f', '-'], { input: poolAtHome });
    await bed.kubectl(['create', 'deployment', 'web', '--image=nginx']);
    await bed.kubectl(['expose', 'deployment', 'web', '--type=LoadBalancer', '--port=80']);
    for (const workload of ['deployment/herald-controller', 'daemonset/herald-agent'])
      await bed.kubectl(['rollout', 'status', workload, '--namespace', 'herald-system']);
  },
};

const poolAtHome = `
apiVersion: herald.dev/v1alpha1
kind: IPAddressPool
metadata: { name: first }
spec: { addresses: [192.168.1.240-192.168.1.250] }
---
apiVersion: herald.dev/v1alpha1
kind: L2Advertisement
metadata: { name: first }
spec: { ipAddressPools: [first] }
`;

/** Prepares what the reader of a clone has: npm, and nodes without containerd, whose pods the stand-in for kubelets runs without an image. */
async function clone(): Promise<void> {
  const folder = join(bed.programs, 'release');
  mkdirSync(folder);
  await download(folder);
  writeFileSync(join(folder, `herald-${version}-image.oci.tar`), 'image');
  writeProgram(folder, 'kubectl-herald', `exec ${join(root, 'bin/kubectl-herald')} "$@"`);
  await run(['tar', '-czf', 'kubectl-herald-linux-amd64.tar.gz', '--remove-files', 'kubectl-herald'], { cwd: folder });
  writeNpm(bed.programs, folder);
  const imports = 'sudo ctr --namespace k8s.io images import -';
  writeProgram(
    bed.programs,
    'ssh',
    `case $1 in 192.168.1.1[123]) ;; *) exit 255 ;; esac; shift; [ "$*" = '${imports}' ] && [ "$(cat)" = image ]`,
  );
}

test.each(pagesOf('quickStart'))('%s', async (page) => {
  const { entrance, programs, variables, checkout } = bed;
  const prepare = async (directory: string): Promise<void> => {
    await (page === 'docs/quick-start.md' ? clone() : download(directory));
    await prepared[page]?.(directory);
  };
  expect(await follow(page, { entrance, programs, variables, checkout, renew }, prepare)).toBeGreaterThan(0);
});
