import { watchedKinds } from '../../src/model/metallb/kinds.ts';
import { openDefinition } from './open-definition.ts';

/** Returns CRDs for MetalLB's kinds with their groups, versions, scope and names, and with schemas that accept anything. */
export function metallbDefinitions(): object[] {
  return watchedKinds.map(({ kind, plural }) => {
    const versions = kind === 'BGPPeer' ? ['v1beta2', 'v1beta1'] : ['v1beta1'];
    return openDefinition({ group: 'metallb.io', kind, plural, versions, scope: 'Namespaced' });
  });
}
