import { defined } from '../../../src/lang/defined.ts';
import { heraldApiGroup } from '../../../src/model/kinds.ts';
import type { KindDefinition } from '../../../src/model/schema/kind.ts';
import type { ObjectSchema } from '../../../src/model/schema/schema.ts';
import { plainText, refusal } from './plain-text.ts';
import { structuralSchema, type StructuralSchema } from './structural-schema.ts';

/** Returns the CustomResourceDefinition of a kind. */
export function customResourceDefinition(kind: KindDefinition): object {
  const { plural, shortNames, columns } = kind;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${heraldApiGroup}` },
    spec: {
      group: heraldApiGroup,
      scope: 'Cluster',
      names: {
        plural,
        singular: kind.kind.toLowerCase(),
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        shortNames,
        categories: ['herald'],
      },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns.map(({ name, type, path, description, wide }) => ({
            name,
            type,
            jsonPath: path,
            ...defined({ description }),
            ...(wide === true ? { priority: 1 } : {}),
          })),
          schema: { openAPIV3Schema: rootSchema(kind) },
        },
      ],
    },
  };
}

function rootSchema({ description, spec, status, nameRule }: KindDefinition): StructuralSchema {
  const properties = {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    ...(spec === undefined ? {} : { spec: specSchema(spec) }),
    status: { description: 'Written by Herald.', ...structuralSchema(status) },
  };
  return {
    description: plainText(description),
    type: 'object',
    properties,
    ...(spec?.required === undefined ? {} : { required: ['spec'] }),
    ...(nameRule === undefined
      ? {}
      : { 'x-kubernetes-validations': [{ rule: nameRule.cel, message: `metadata.name ${refusal(nameRule)}` }] }),
  };
}

/** Adds `default: {}` to a spec that may be absent, so that a stored object shows its defaults. */
function specSchema(spec: ObjectSchema): StructuralSchema {
  const described = { description: 'Written by people.', ...structuralSchema(spec) };
  const storesDefaults = spec.impliedDefaults !== true && spec.required === undefined;
  return storesDefaults ? { ...described, default: {} } : described;
}
