import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';

interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value: unknown;
}

interface Kustomization {
  readonly resources: readonly string[];
  readonly patches?: readonly { readonly target: { readonly kind: string; readonly name: string }; readonly patch: string }[];
}

/**
 * Returns what `kubectl kustomize` makes of a folder of manifests/, in the order of its resources. Builders need no kubectl for it. Only what our
 * overlays for bare metal use is known: resources, and patches that add (RFC 6902). Throws for anything else. test/release compares the result with kubectl's.
 */
export function kustomize(folder: string): KubernetesObject[] {
  const { resources, patches = [], ...others } = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as Kustomization;
  const unknown = Object.keys(others).filter((name) => name !== 'apiVersion' && name !== 'kind');
  if (unknown.length > 0) throw new Error(`${folder}/kustomization.yaml has ${unknown.join(', ')}, which the release script does not know`);
  const objects = resources.flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? kustomize(path) : objectsIn(readFileSync(path, 'utf8'));
  });
  for (const { target, patch } of patches) {
    const found = objects.find(({ kind, metadata }) => kind === target.kind && metadata.name === target.name);
    if (found === undefined) throw new Error(`${folder}/kustomization.yaml patches ${target.kind} ${target.name}, which is not there`);
    const operations = parse(patch) as readonly Operation[];
    for (const operation of operations) apply(found, operation);
  }
  return objects;
}

function objectsIn(text: string): KubernetesObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null);
}

/** Adds a value at a path; "-" at its end appends to a list. */
function apply(object: object, { op, path, value }: Operation): void {
  const names = path.split('/').slice(1);
  const last = names.pop() ?? '';
  let place: unknown = object;
  for (const name of names) place = (place as Record<string, unknown> | null | undefined)?.[name];
  if (op !== 'add' || typeof place !== 'object' || place === null)
    throw new Error(`the release script cannot apply the patch ${op} ${path}`);
  if (Array.isArray(place) && last === '-') place.push(value);
  else if (Array.isArray(place)) throw new Error(`the release script cannot apply the patch ${op} ${path}`);
  else (place as Record<string, unknown>)[last] = value;
}

/** Writes objects as one file, with the image of the release. */
export function manifestOf(objects: readonly object[], before: string, image: string): string {
  const documents = objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }));
  return documents.map((text) => text.replaceAll(`image: ${before}\n`, `image: ${image}\n`)).join('---\n');
}
