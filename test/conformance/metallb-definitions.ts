import { watchedKinds } from '../../src/model/metallb/kinds.ts';

/** Returns CRDs for MetalLB's kinds with their groups, versions, scope and names, and with schemas that accept anything. */
export function metallbDefinitions(): object[] {
  return watchedKinds.map(({ kind, plural }) => {
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const version = (name: string, storage: boolean): object => ({ name, served: true, storage, subresources: { status: {} }, schema });
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.metallb.io` },
      spec: {
        group: 'metallb.io',
        scope: 'Namespaced',
        names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
        versions: kind === 'BGPPeer' ? [version('v1beta1', false), version('v1beta2', true)] : [version('v1beta1', true)],
      },
    };
  });
}
