import { stringify } from 'yaml';
import { heraldApiGroup, kinds } from '../../../src/model/kinds.ts';
import { annotationsPage } from './annotations-page.ts';
import { customResourceDefinition } from './custom-resource-definition.ts';
import { jsonSchema } from './json-schema.ts';
import { referencePage } from './reference-page.ts';

const origin = '# Written by npm run generate from src/model/kinds. Edit those definitions.\n';

/** Returns every file made from the definitions of kinds and annotations: path in the repository, and content. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const kind of kinds) {
    files.set(`manifests/crds/${kind.plural}.yaml`, `${origin}${yaml(customResourceDefinition(kind))}`);
    const schema = `manifests/schema/${heraldApiGroup}/${kind.kind.toLowerCase()}_v1alpha1.json`;
    files.set(schema, `${JSON.stringify(jsonSchema(kind), undefined, 2)}\n`);
  }
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: kinds.map(({ plural }) => `${plural}.yaml`),
  };
  files.set('manifests/crds/kustomization.yaml', `${origin}${yaml(kustomization)}`);
  files.set('docs/reference/objects.md', referencePage());
  files.set('docs/reference/annotations.md', annotationsPage());
  return files;
}

const yaml = (value: object): string => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
