import { join } from 'node:path';
import { apply, configurationKinds, definition, ours } from '../../conformance/manifests.ts';
import { programPath } from '../../conformance/programs.ts';
import { until } from '../../lab/until.ts';
import { home, Side } from './side.ts';

/** Starts MetalLB's controller, as cluster-admin and without its webhooks. */
export function startMetalLB(): Promise<Side> {
  return Side.start('metallb', async (cluster) => {
    // The controller reads its own pod, as the owner of its report.
    const spec = { containers: [{ name: 'controller', image: 'controller' }] };
    await cluster.request({
      method: 'POST',
      path: `/api/v1/namespaces/${home}/pods`,
      body: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'controller' }, spec },
    });
    return [
      programPath('metallb-controller'),
      '--webhook-mode=disabled',
      '--pod-name=controller',
      `--namespace=${home}`,
      '--port=0',
      '--health-probe-port=0',
      `--kubeconfig=${join(cluster.directory, 'kubeconfig')}`,
    ];
  });
}

/** Starts Herald's controller with `compat: metallb`, as cluster-admin. */
export function startHerald(): Promise<Side> {
  return Side.start('herald', async (cluster) => {
    for (const kind of configurationKinds) await apply(cluster, definition(kind));
    await apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'herald-system' } });
    await until('HeraldConfig is served', async () => {
      await apply(cluster, ours('HeraldConfig', 'default', { compat: 'metallb', compatNamespace: home }));
      return true;
    });
    return [
      join(import.meta.dirname, '../../../bin/herald'),
      'controller',
      '--leader-elect=false',
      '--kubeconfig',
      join(cluster.directory, 'kubeconfig'),
    ];
  });
}
