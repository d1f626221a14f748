import type { Tool } from '../tool.ts';
import { isKubeVipConfigMap, kubeVipConfigMap, kubeVipPools } from './config-map.ts';
import { kubeVipEnvironment, kubeVipObjects, kubeVipSettings } from './environment.ts';

/** kube-vip for Services, with the pools of its cloud provider. The address of the control plane stays with kube-vip. */
export const kubeVip: Tool = {
  name: 'kube-vip',
  kinds: [kubeVipConfigMap, kubeVipEnvironment],
  recognises: (document) => isKubeVipConfigMap(document) || kubeVipSettings(document) !== undefined,
  translate: (documents) => documents.map((document) => (isKubeVipConfigMap(document) ? kubeVipPools(document) : kubeVipObjects(document))),
};
