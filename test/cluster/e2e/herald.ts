import assert from 'node:assert';
import { join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import { asNumbers } from '../cluster/topology.ts';
import type { HeraldImage } from '../images/index.ts';
import type { SetUpName } from './results.ts';

const manifests = join(import.meta.dirname, '../../../manifests');

/** Kubernetes' tests create Services with externalIPs, and LoadBalancers of both families. */
const objects = [
  { kind: 'IPAddressPool', metadata: { name: 'e2e' }, spec: { addresses: ['10.200.0.0/24', 'fd00:200::/112'] } },
  { kind: 'BGPPeer', metadata: { name: 'tor' }, spec: { myASN: asNumbers.nodes, peerASN: asNumbers.tor, peerAddress: '172.30.0.1' } },
  { kind: 'BGPAdvertisement', metadata: { name: 'all' }, spec: { addressTypes: ['LoadBalancer', 'ExternalIP'] } },
  { kind: 'ExternalIPPolicy', metadata: { name: 'everyone' }, spec: { namespaceSelector: {}, cidrs: ['0.0.0.0/0', '::/0'] } },
];

/**
 * Installs Herald by kustomize as its users do, with the manifests of the set-up. In the set-up kube-proxy it forwards nothing, and only gives and
 * announces addresses: the tests of LoadBalancers need some program that does.
 */
export async function installHerald(cluster: Cluster, setUp: SetUpName, image: HeraldImage): Promise<void> {
  await cluster.kubectl(['apply', '--server-side', '-k', join(manifests, 'crds')]);
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
  const overlay = setUp === 'in-place' ? 'without-kube-proxy' : 'beside-kube-proxy';
  const { stdout } = await cluster.kubectl(['kustomize', join(manifests, 'overlays', overlay)]);
  const rendered = stdout.replaceAll(/^( *image: )herald:.*$/gm, `$1${image.name}`);
  assert(rendered.includes(image.name));
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { input: rendered });
  if (setUp === 'in-place') {
    const url = `--from-literal=url=${cluster.plan.server}`;
    await cluster.kubectl(['-n', 'herald-system', 'create', 'configmap', 'herald-apiserver', url]);
  }
  if (setUp === 'kube-proxy')
    await cluster.kubectl(['patch', 'heraldconfig', 'default', '--type=merge', '-p', '{"spec":{"services":"none"}}']);
  for (const object of objects) await cluster.apply({ apiVersion: 'herald.dev/v1alpha1', ...object });
  await cluster.kubectl(['-n', 'herald-system', 'rollout', 'status', 'deployment/herald-controller', '--timeout=240s']);
  await cluster.kubectl(['-n', 'herald-system', 'rollout', 'status', 'daemonset/herald-agent', '--timeout=240s']);
}
