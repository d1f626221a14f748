import { defined } from '../../../../src/lang/defined.ts';

/** A MetalLB object as in its documentation. */
export const metallb = (
  kind: string,
  spec: object,
  name = 'main',
  further: { version?: string; namespace?: string; labels?: object } = {},
) => ({
  apiVersion: `metallb.io/${further.version ?? (kind === 'BGPPeer' ? 'v1beta2' : 'v1beta1')}`,
  kind,
  metadata: { name, namespace: further.namespace ?? 'metallb-system', ...defined({ labels: further.labels }) },
  spec,
});
