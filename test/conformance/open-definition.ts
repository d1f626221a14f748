/** A kind of another program. The first version is the one that is stored. */
export interface ForeignKind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly versions: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
}

/** Returns a CRD with group, versions, scope and names of the other program's, and a schema that accepts anything. */
export function openDefinition({ group, kind, plural, versions, scope }: ForeignKind): object {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: versions.map((name, index) => ({ name, served: true, storage: index === 0, subresources: { status: {} }, schema })),
    },
  };
}
