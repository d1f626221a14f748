import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../lab/until.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import { Clients, objectsOf, clientTimeoutMs, succeeded, type Labels, type Manifest } from './clients.ts';
import type { KubernetesCluster } from './cluster.ts';
import { apply } from './manifests.ts';
import { metallbDefinitions } from './metallb-definitions.ts';

/** Installs manifests/ by kubectl and by Helm, as a user does, in a real API server. */
const manifests = join(import.meta.dirname, '../../manifests');
const chart = join(manifests, 'chart');
const overlays = readdirSync(join(manifests, 'overlays'));
let cluster: KubernetesCluster;
let clients: Clients;

beforeAll(async () => {
  cluster = await borrowCluster({ controllerManager: true });
  clients = new Clients(cluster);
});

afterAll(async () => {
  await cluster?.stop();
  clients?.remove();
});

const rendered = async (folder: string): Promise<Manifest[]> =>
  objectsOf(succeeded(await clients.kubectl('kustomize', join(manifests, folder))));

const keyOf = ({ kind, metadata }: Manifest): string => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;

async function existing(): Promise<string[]> {
  const kinds = 'deployments,daemonsets,serviceaccounts,roles,rolebindings,poddisruptionbudgets';
  const { stdout } = await clients.kubectl('get', kinds, '-n', 'herald-system', '-o', 'name');
  const { stdout: clusterWide } = await clients.kubectl(
    'get',
    'clusterroles,clusterrolebindings,crds,flowschemas,prioritylevelconfigurations',
    '-o',
    'name',
  );
  return [...stdout.split('\n'), ...clusterWide.split('\n')].filter((name) => name.includes('herald'));
}

async function untilServed(): Promise<void> {
  await until('HeraldConfig is served', async () => (await clients.kubectl('get', 'heraldconfigs')).code === 0);
}

describe.each(overlays)('the overlay %s', (overlay) => {
  test('the overlay can be applied, and a second time without a change', async () => {
    succeeded(await clients.kubectl('apply', '--server-side', '-k', join(manifests, 'crds')));
    await untilServed();
    succeeded(await clients.kubectl('apply', '--server-side', '-k', join(manifests, 'overlays', overlay)));
    const versions = async (): Promise<string> =>
      (
        await clients.kubectl(
          'get',
          'deployments,daemonsets,roles',
          '-n',
          'herald-system',
          '-o',
          'jsonpath={.items[*].metadata.generation}',
        )
      ).stdout;
    const before = await versions();
    succeeded(await clients.kubectl('apply', '--server-side', '-k', join(manifests, 'overlays', overlay)));
    expect(await versions()).toBe(before);
  });

  test('the overlay says which Services Herald forwards, if it has agents', async () => {
    const objects = await rendered(`overlays/${overlay}`);
    const forwards = objects.some(({ kind }) => kind === 'DaemonSet');
    expect(objects.some(({ kind }) => kind === 'HeraldConfig')).toBe(forwards);
  });

  test(
    'the overlay is removed without a trace',
    async () => {
      const { code } = await clients.kubectl('delete', '-k', join(manifests, 'overlays', overlay), '--wait=true', '--ignore-not-found');
      expect(code).toBe(0);
      await until('everything is gone', async (note) => note(await existing()).length === 0, clientTimeoutMs);
    },
    2 * clientTimeoutMs,
  );
});

describe('pod security levels', () => {
  const pod = async (kind: string): Promise<object> => {
    const template = (await rendered('base')).find((object) => object.kind === kind)?.spec?.template;
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'x' },
      spec: { ...template?.spec, serviceAccountName: 'default', priorityClassName: '' },
    };
  };
  const admitted = async (level: string, object: object): Promise<number> => {
    const namespace = `level-${level}`;
    const metadata = { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': level } };
    await cluster.attempt({ method: 'POST', path: '/api/v1/namespaces', body: { apiVersion: 'v1', kind: 'Namespace', metadata } });
    await until(
      'the namespace has its service account',
      async () => (await cluster.attempt({ path: `/api/v1/namespaces/${namespace}/serviceaccounts/default` })).status === 200,
    );
    const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All&fieldValidation=Strict`;
    return (await cluster.attempt({ method: 'POST', path, body: object })).status;
  };

  test('pods of the controller pass the level restricted', async () => {
    expect(await admitted('restricted', await pod('Deployment'))).toBe(201);
  });

  test('pods of the agent need the level of their namespace', async () => {
    const object = await pod('DaemonSet');
    expect(await admitted('baseline', object)).toBe(403);
    const namespace = (await rendered('base')).find(({ kind }) => kind === 'Namespace');
    expect(await admitted(namespace?.metadata.labels?.['pod-security.kubernetes.io/enforce'] ?? '', object)).toBe(201);
  });
});

describe('the chart', () => {
  const install = ['install', 'herald', chart, '--namespace', 'herald-system', '--create-namespace'];
  /** For a cluster that has Herald's CRDs. first-installation.test.ts installs the chart without them. */
  const known = ['--api-versions', 'herald.dev/v1alpha1/HeraldConfig'];
  const template = async (...args: string[]): Promise<Manifest[]> =>
    objectsOf(succeeded(await clients.helm('template', 'herald', chart, '--namespace', 'herald-system', ...known, ...args)));

  /** Returns an object without the metadata that Helm adds. */
  const bare = (object: Manifest): unknown => {
    const text = JSON.stringify(object, (name, value: unknown) => {
      if (name === 'imagePullPolicy') return undefined;
      if (name === 'labels' || name === 'annotations') {
        const kept = Object.entries(value as Labels).filter(([key]) => !/^(helm\.sh|meta\.helm\.sh|app\.kubernetes\.io)\//.test(key));
        return kept.length === 0 ? undefined : Object.fromEntries(kept);
      }
      return value;
    });
    return JSON.parse(text);
  };
  const sorted = (objects: readonly Manifest[]): unknown[] =>
    objects
      .filter(({ kind }) => kind !== 'Namespace')
      .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
      .map(bare);

  test('helm lint finds no error', async () => {
    expect((await clients.helm('lint', '--strict', chart)).stdout).toContain('0 chart(s) failed');
  });

  test.each([
    ['beside-kube-proxy', ['--set', 'config.spec.services=external,config.spec.defaultClass=true']],
    ['aws', ['--set', 'agent.enabled=false,config.create=false,aws.clusterName=production']],
    ['without-kube-proxy', ['--set', 'config.spec.services=all,config.spec.defaultClass=true,apiServer=https://192.0.2.10:6443']],
  ])('the chart renders the objects of the overlay %s', async (overlay, values) => {
    const wanted = await rendered(`overlays/${overlay}`);
    // The chart has values for what the overlay takes from a ConfigMap.
    const text = JSON.stringify(sorted(wanted))
      .replaceAll(/,?\{"name":"(APISERVER|AWS_CLUSTER_NAME)","valueFrom":\{.*?\}\}\}/g, '')
      .replaceAll('"env":[],', '')
      .replaceAll('$(APISERVER)', 'https://192.0.2.10:6443')
      .replaceAll('$(AWS_CLUSTER_NAME)', 'production');
    expect(sorted(await template(...values))).toEqual(JSON.parse(text));
  });

  test('the chart renders manifests/monitoring when monitoring is enabled', async () => {
    const wanted = await rendered('monitoring');
    const templated = await template(
      '--set',
      'monitoring.enabled=true,monitoring.labels.release=stack,monitoring.runbooks=https://git.example/',
    );
    const watching = templated.filter((object) => wanted.some((one) => keyOf(one) === keyOf(object)));
    for (const { metadata } of watching)
      expect(metadata.labels).toMatchObject({ release: 'stack', 'app.kubernetes.io/instance': 'herald' });
    expect(watching.find(({ kind }) => kind === 'ConfigMap')?.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    const selected = wanted.map((one) => ({ ...one, metadata: { ...one.metadata, labels: { ...one.metadata.labels, release: 'stack' } } }));
    const text = JSON.stringify(sorted(watching)).replaceAll('https://git.example/', 'https://herald.dev/');
    expect(JSON.parse(text)).toEqual(sorted(selected));
    const without = await template();
    expect(without.filter((object) => wanted.some((one) => keyOf(one) === keyOf(object)))).toEqual([]);
  });

  test('the chart refuses unknown values by name', async () => {
    const { code, stderr } = await clients.helm('template', 'herald', chart, '--set', 'agent.replicaCount=3');
    expect(code).not.toBe(0);
    expect(stderr).toContain('replicaCount');
    expect((await clients.helm('template', 'herald', chart, '--set', 'config.spec.services=some')).code).not.toBe(0);
  });

  test('the chart has extra volumes of the controller, for a provider module', async () => {
    const volume = { name: 'acme', configMap: { name: 'acme-provider' } };
    const mount = { name: 'acme', mountPath: '/opt/acme', readOnly: true };
    const values = [`controller.extraVolumes=${JSON.stringify([volume])}`, `controller.extraVolumeMounts=${JSON.stringify([mount])}`];
    const objects = await template(...values.flatMap((value) => ['--set-json', value]));
    expect(objects.find(({ kind }) => kind === 'Deployment')?.spec?.template?.spec).toMatchObject({
      volumes: expect.arrayContaining([volume]),
      containers: [{ volumeMounts: expect.arrayContaining([mount]) }],
    });
    const { code, stderr } = await clients.helm(
      'template',
      'herald',
      chart,
      '--set-json',
      'controller.extraVolumeMounts=[{"name":"acme"}]',
    );
    expect(code).not.toBe(0);
    expect(stderr).toContain('mountPath');
  });

  test('the chart can be installed into an empty cluster', async () => {
    succeeded(await clients.helm(...install));
    expect(await existing()).toContain('daemonset.apps/herald-agent');
    await untilServed();
  });

  test('an upgrade changes HeraldConfig', async () => {
    succeeded(
      await clients.helm(
        'upgrade',
        'herald',
        chart,
        '--namespace',
        'herald-system',
        '--set',
        'config.spec.services=none,controller.replicas=3',
      ),
    );
    const { stdout } = await clients.kubectl('get', 'heraldconfig', 'default', '-o', 'jsonpath={.spec.services}');
    expect(stdout).toBe('none');
  });

  test('without config.create agents wait for a HeraldConfig, and a kept one stays', async () => {
    succeeded(await clients.kubectl('annotate', 'heraldconfig', 'default', 'helm.sh/resource-policy=keep'));
    succeeded(await clients.helm('upgrade', 'herald', chart, '--namespace', 'herald-system', '--set', 'config.create=false'));
    const { stdout } = await clients.kubectl('get', 'daemonset', 'herald-agent', '-n', 'herald-system', '-o', 'json');
    expect(stdout).toContain('"--wait-for-config"');
    succeeded(await clients.kubectl('delete', 'heraldconfig', 'default'));
  });

  test('an uninstall leaves the CRDs and all pools', async () => {
    const pool = {
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'IPAddressPool',
      metadata: { name: 'main' },
      spec: { addresses: ['192.0.2.0/24'] },
    };
    await cluster.request({ method: 'POST', path: '/apis/herald.dev/v1alpha1/ipaddresspools', body: pool });
    expect((await clients.helm('uninstall', 'herald', '--namespace', 'herald-system', '--wait')).code).toBe(0);
    expect((await clients.kubectl('get', 'ipaddresspool', 'main')).code).toBe(0);
    expect((await existing()).filter((name) => !name.startsWith('customresourcedefinition'))).toEqual([]);
  });

  test('the chart can be installed over existing CRDs', async () => {
    const { stderr, code } = await clients.helm(...install);
    expect(stderr).not.toContain('Error');
    expect(code).toBe(0);
    expect((await clients.kubectl('get', 'heraldconfig', 'default', '-o', 'jsonpath={.spec.services}')).stdout).toBe('external');
  });

  const defaultClass = async (): Promise<string> =>
    (await clients.kubectl('get', 'heraldconfig', 'default', '-o', 'jsonpath={.spec.defaultClass}')).stdout;

  test('the chart makes Herald the default where no other controller is found, also after an upgrade', async () => {
    expect(await defaultClass()).toBe('true');
    await apply(cluster, ...metallbDefinitions().slice(0, 1));
    succeeded(await clients.helm('upgrade', 'herald', chart, '--namespace', 'herald-system'));
    expect(await defaultClass()).toBe('true');
  });

  test('a value decides which controller serves Services without a class', async () => {
    succeeded(await clients.helm('upgrade', 'herald', chart, '--namespace', 'herald-system', '--set', 'config.spec.defaultClass=false'));
    expect(await defaultClass()).toBe('false');
  });

  test('the chart leaves Services without a class to a MetalLB that it finds', async () => {
    expect((await clients.helm('uninstall', 'herald', '--namespace', 'herald-system', '--wait')).code).toBe(0);
    succeeded(await clients.helm(...install));
    expect(await defaultClass()).toBe('false');
  });
});
