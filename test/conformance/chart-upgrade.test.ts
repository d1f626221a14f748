import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { until } from '../lab/until.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import { clientTimeoutMs, Clients, succeeded } from './clients.ts';
import type { KubernetesCluster } from './cluster.ts';
import { apply } from './manifests.ts';
import { metallbDefinitions } from './metallb-definitions.ts';

/** Upgrades by Helm from the chart that users may have (chart-before/README.md) to this one, in a real API server, and back. */
const before = join(import.meta.dirname, 'chart-before/chart.tgz');
const chart = join(import.meta.dirname, '../../manifests/chart');
const release = ['--namespace', 'herald-system'];
let cluster: KubernetesCluster;
let clients: Clients;

beforeAll(async () => {
  cluster = await borrowCluster({ controllerManager: true });
  clients = new Clients(cluster);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'metallb-system' } };
  await apply(cluster, namespace, ...metallbDefinitions().slice(0, 1));
});

afterAll(async () => {
  await cluster?.stop();
  clients?.remove();
});

const workloads = 'deployments,daemonsets,serviceaccounts,roles,rolebindings,poddisruptionbudgets,networkpolicies';
const clusterWide = 'clusterroles,clusterrolebindings,crds,flowschemas,prioritylevelconfigurations';

interface Existing {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: { readonly selector?: unknown };
}

/** The objects of the release, by kind and name. */
async function existing(): Promise<ReadonlyMap<string, Existing>> {
  const read = async (...args: string[]): Promise<Existing[]> =>
    (parse(succeeded(await clients.kubectl('get', ...args, '-o', 'yaml'))) as { items: Existing[] }).items;
  const all = [...(await read(workloads, '-n', 'herald-system')), ...(await read(clusterWide))];
  return new Map(all.filter(({ metadata }) => metadata.name.includes('herald')).map((one) => [`${one.kind}/${one.metadata.name}`, one]));
}

const identities = (objects: ReadonlyMap<string, Existing>): object[] =>
  [...objects].map(([key, { metadata, spec }]) => ({ key, uid: metadata.uid, selector: spec?.selector }));

const installed = [
  ['the defaults', []],
  ['a monitoring stack and policies', ['networkPolicy.enabled=true', 'agent.realTimeBfd=true', 'commonLabels.team=network']],
  ['AWS without agents', ['agent.enabled=false', 'config.create=false', 'aws.clusterName=production']],
  [
    'everything in place of kube-proxy, beside MetalLB',
    ['config.spec.services=all', 'apiServer=https://192.0.2.10:6443', 'metallb.enabled=true'],
  ],
] as const;

const ways = [['--reuse-values'], ['--reset-then-reuse-values']] as const;

describe.each(installed)('a release with %s', (_, values) => {
  const settings = values.flatMap((value) => ['--set', value]);

  test(
    'is upgraded from the chart before, by any way to keep values, and rolled back',
    async () => {
      succeeded(await clients.helm('install', 'herald', before, ...release, '--create-namespace', ...settings));
      await until('HeraldConfig is served', async () => (await clients.kubectl('get', 'heraldconfigs')).code === 0);
      const old = identities(await existing());
      expect(old.length).toBeGreaterThan(15);
      for (const way of ways) {
        succeeded(await clients.helm('upgrade', 'herald', chart, ...release, ...way));
        // Also the ClusterRole of the first installation is gone now.
        const kept = new Map([...(await existing())].filter(([key]) => old.some((one) => (one as { key: string }).key === key)));
        expect(identities(kept)).toEqual(old.filter((one) => kept.has((one as { key: string }).key)));
        expect(old.length - kept.size).toBeLessThanOrEqual(2);
      }
      succeeded(await clients.helm('upgrade', 'herald', chart, ...release, '--reuse-values', '--set', 'commonAnnotations.team=network'));
      const annotated = await existing();
      for (const { kind, metadata } of annotated.values())
        expect([kind, metadata.annotations]).toEqual([kind, expect.objectContaining({ team: 'network' })]);
      succeeded(await clients.helm('rollback', 'herald', '1', ...release));
      const back = await existing();
      expect([...back.values()].filter(({ metadata }) => metadata.annotations?.['team'] !== undefined)).toEqual([]);
      succeeded(await clients.helm('uninstall', 'herald', ...release, '--wait'));
      succeeded(await clients.kubectl('delete', 'crd', ...definitionsIn(back), '--wait=true'));
    },
    3 * clientTimeoutMs,
  );
});

const definitionsIn = (objects: ReadonlyMap<string, Existing>): string[] =>
  [...objects.values()].filter(({ kind }) => kind === 'CustomResourceDefinition').map(({ metadata }) => metadata.name);
