import { apply } from '../../conformance/manifests.ts';
import { missingProgram, programPath } from '../../conformance/programs.ts';
import { metallbDefinitions } from '../../differential/metallb/metallb-module.ts';
import type { LabProcess } from '../../lab/lab-process.ts';
import { until } from '../../lab/until.ts';
import { heraldAsn, routerAddress, routerAsn } from './addresses.ts';
import { node, poolAddresses } from './objects.ts';
import type { Stage } from './stage.ts';

const home = 'metallb-system';
const pod = 'speaker';

/** Returns why MetalLB's speaker cannot run here. */
export const missingSpeaker = (): string | undefined => missingProgram('metallb-speaker', 'kube-apiserver', 'etcd');

/** Gives a stage MetalLB's kinds, and objects that make its speaker announce every address of the benchmark to the router. */
export async function prepareMetalLB({ cluster }: Stage): Promise<void> {
  await apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: home } });
  for (const definition of await metallbDefinitions()) await apply(cluster, definition);
  // The speaker wants to find its own Pod.
  const metadata = { name: pod, namespace: home, labels: { app: 'metallb' } };
  await apply(cluster, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: node, containers: [{ name: pod, image: pod }] } });
  const put = (version: string, kind: string, spec: object): Promise<unknown> =>
    apply(cluster, { apiVersion: `metallb.io/${version}`, kind, metadata: { name: 'bench', namespace: home }, spec });
  await until('the kinds of MetalLB are served', async () => {
    await put('v1beta1', 'IPAddressPool', { addresses: [poolAddresses] });
    await put('v1beta1', 'BGPAdvertisement', {});
    await put('v1beta2', 'BGPPeer', { myASN: heraldAsn, peerASN: routerAsn, peerAddress: routerAddress(4), holdTime: '90s' });
    return true;
  });
}

/** Starts the speaker with its own implementation of BGP. */
export const startSpeaker = (stage: Stage): LabProcess =>
  stage.startWithKubeconfig(
    [programPath('metallb-speaker'), `--node-name=${node}`, `--pod-name=${pod}`, `--namespace=${home}`, '--port=0'],
    { METALLB_BGP_TYPE: 'native' },
  );
