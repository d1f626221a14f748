import { afterEach, beforeEach, expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { metallbDefinitions } from '../conformance/metallb-definitions.ts';
import { openDefinition } from '../conformance/open-definition.ts';
import { nodeStateManifest } from '../../src/model/status-manifest.ts';
import type { NodeState } from '../../src/model/objects/node-state.ts';
import { reason, type Reason } from '../../src/model/reasons.ts';
import { ClusterBed, herald, oneMachine } from './cluster-bed.ts';
import { follow, root } from './follow.ts';
import { pagesOf } from './pages.ts';
import { downloadChart } from './release-files.ts';

let bed: ClusterBed;

beforeEach(async () => {
  bed = await ClusterBed.start({ topology: oneMachine, server: { machine: 'client', address: '192.0.2.10' }, checkout: true });
});

afterEach(async () => {
  await bed?.stop();
});

async function create(...objects: readonly object[]): Promise<void> {
  await bed.kubectl(['apply', '-f', '-'], { input: objects.map((object) => stringify(object)).join('---\n') });
}

const namespace = (name: string): object => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

const workload = (kind: 'DaemonSet' | 'Deployment', namespaceName: string, name: string): object => {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name, image: name, args: ['--v=1'] }] } };
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { namespace: namespaceName, name },
    spec: { selector: { matchLabels: labels }, template },
  };
};

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly status?: object;
}

function objectsOf(file: string): readonly Manifest[] {
  return parseAllDocuments(readFileSync(join(root, file), 'utf8')).map((document) => document.toJS() as Manifest);
}

/** Creates kinds of another project that are not in a namespace, and an object of each. */
async function createForeign(group: string, version: string, names: Readonly<Record<string, string>>): Promise<void> {
  const kinds = Object.keys(names);
  const pluralOf = (kind: string): string => kind.toLowerCase().replace(/y$/, 'ie').concat('s');
  await create(...kinds.map((kind) => openDefinition({ group, versions: [version], kind, plural: pluralOf(kind), scope: 'Cluster' })));
  await bed.kubectl(['wait', '--for=condition=Established', '--timeout=100s', 'crd', '--all']);
  await create(...kinds.map((kind) => ({ apiVersion: `${group}/${version}`, kind, metadata: { name: names[kind] }, spec: {} })));
}

const node1 = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } };

/** Writes the report of node1's agent with these problems of its host. */
async function reportOfNode1(host: readonly Reason[]): Promise<void> {
  const metadata = { name: 'node1' } as NodeState['metadata'];
  const state = {
    kind: 'NodeState',
    metadata,
    updated: new Date().toISOString(),
    consumed: {},
    sessions: [],
    differing: [],
    host,
  } as const;
  const { status, ...object } = nodeStateManifest(state) as { status: object };
  await create(object);
  const patch = ['patch', 'nodestate', 'node1', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
  await bed.kubectl(patch);
}

async function installHerald(): Promise<void> {
  await bed.installDefinitions();
  await bed.kubectl(['apply', '--server-side', '--force-conflicts', '-k', 'manifests/base']);
}

/** Installs what each page expects to be there. */
const prepared: Readonly<Record<string, () => Promise<void>>> = {
  'docs/how-to/aws.md': installHerald,
  'docs/how-to/monitoring.md': async () => {
    await installHerald();
    await create(
      ...[
        ['PodMonitor', 'podmonitors'],
        ['PrometheusRule', 'prometheusrules'],
      ].map(([kind = '', plural = '']) =>
        openDefinition({ group: 'monitoring.coreos.com', versions: ['v1'], kind, plural, scope: 'Namespaced' }),
      ),
    );
    await bed.kubectl(['wait', '--for=condition=Established', '--timeout=100s', 'crd', '--all']);
  },
  'docs/how-to/migrate-from-kube-proxy.md': async () => {
    await installHerald();
    await create(workload('DaemonSet', 'kube-system', 'kube-proxy'), node1);
    await reportOfNode1([
      reason('KubeProxyBeside', { program: 'kube-proxy' }),
      reason('HealthzNotServed', { address: '0.0.0.0:10256', why: 'kube-proxy has it' }),
    ]);
  },
  'docs/how-to/migrate-from-calico.md': async () => {
    await createForeign('projectcalico.org', 'v3', {
      KubeControllersConfiguration: 'default',
      BGPConfiguration: 'default',
      BGPPeer: 'tor1',
    });
    await create(node1);
  },
  'docs/how-to/migrate-from-cilium.md': async () => {
    await createForeign('cilium.io', 'v2', {
      CiliumBGPClusterConfig: 'tor1',
      CiliumBGPPeerConfig: 'tor1',
      CiliumBGPAdvertisement: 'services',
      CiliumLoadBalancerIPPool: 'public',
    });
    await createForeign('cilium.io', 'v2alpha1', { CiliumL2AnnouncementPolicy: 'services' });
    await create(node1);
  },
  'docs/how-to/migrate-from-kube-vip.md': () =>
    create(node1, workload('DaemonSet', 'kube-system', 'kube-vip-ds'), workload('Deployment', 'kube-system', 'kube-vip-cloud-provider')),
  'docs/how-to/migrate-from-others.md': () => create(node1, workload('DaemonSet', 'kube-system', 'kube-router')),
  'docs/how-to/migrate-from-metallb.md': async () => {
    await installHerald();
    await create(...metallbDefinitions(), ...['metallb-system', 'shop', 'partners'].map(namespace));
    await bed.kubectl(['wait', '--for=condition=Established', '--timeout=100s', 'crd', '--all']);
    await create(
      workload('Deployment', 'metallb-system', 'controller'),
      workload('DaemonSet', 'metallb-system', 'speaker'),
      node1,
      // Leaves out the L2Advertisement, which the page tells the reader to remove first.
      ...objectsOf('examples/metallb/installation.yaml').filter(({ kind }) => kind !== 'L2Advertisement'),
      { apiVersion: 'herald.dev/v1alpha1', kind: 'HeraldConfig', metadata: { name: 'default' }, spec: { compat: 'metallb' } },
    );
    for (const { status, ...service } of objectsOf('examples/metallb/services.yaml')) {
      await create(service);
      const { namespace: of = '', name } = service.metadata;
      await bed.kubectl(['-n', of, 'patch', 'service', name, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]);
    }
    // The third step of the page expects this controller.
    bed.lab
      .machine('client')
      .spawn([herald, 'controller', '--leader-elect=false', '--kubeconfig', bed.kubeconfig, '--socket', 'none'], { name: 'controller' });
  },
};

/** Installs what a section that begins anew expects. */
const renewed: Readonly<Record<string, () => Promise<void>>> = {
  'docs/how-to/migrate-from-metallb.md': () => create(namespace('metallb-system'), workload('Deployment', 'metallb-system', 'controller')),
};

test.each(pagesOf('apiServer'))('%s', async (page) => {
  await prepared[page]?.();
  const { entrance, programs, variables, checkout } = bed;
  const renew = async (): Promise<void> => {
    await bed.renew();
    await renewed[page]?.();
  };
  expect(await follow(page, { entrance, programs, variables, checkout, renew }, downloadChart)).toBeGreaterThan(0);
});
