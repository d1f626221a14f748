import { excludedInterfacesName, importObjects, type Imported, type RawInput } from '../../../../model/metallb/import.ts';
import { checkAcross, type SecretsRead } from '../across-objects.ts';
import { addressPool, isAddressPool, isMetalLBConfig, metallbConfig, newerObjects } from './metallb-config.ts';
import { judged, partsOf, type ImportedDocument, type Manifest, type SourceDocument, type Tool } from './tool.ts';

const files: SecretsRead = { all: false, forbidden: new Set() };
const configMaps = new Set(['bgpextras', excludedInterfacesName]);

/** MetalLB, in every version that has been. docs/reference/metallb-compatibility.md has the fields of its present kinds. */
export const metallb: Tool = {
  name: 'MetalLB',
  kinds: [metallbConfig, addressPool],
  recognises: ({ raw }) => {
    const { group, kind, name } = partsOf(raw);
    if (kind === 'ConfigMap') return configMaps.has(name);
    return group === 'metallb.io' ? kind !== 'MetalLB' : isMetalLBConfig(raw);
  },
  translate: (documents, { all, namespace }) => importMetalLB(documents, all, namespace, files),
};

/** Imports configurations of MetalLB. `all` has the Secrets and Nodes that they refer to. `namespace`: MetalLB's own, if it is known. */
export function importMetalLB(
  documents: readonly SourceDocument[],
  all: readonly SourceDocument[],
  namespace: string | undefined,
  secrets: SecretsRead,
): ImportedDocument[] {
  const origins = new Map<unknown, SourceDocument>();
  const losses: ImportedDocument[] = [];
  const inputs = documents.flatMap((document): readonly RawInput[] => {
    if (!isAddressPool(document.raw) && !isMetalLBConfig(document.raw)) return [document];
    const newer = newerObjects(document);
    if (newer.remarks.length > 0) losses.push(judged(document, newer.remarks, []));
    for (const { raw } of newer.inputs) origins.set(raw, document);
    return newer.inputs;
  });
  const others = all.filter(({ raw }) => ['Secret', 'Node'].includes(partsOf(raw).kind) && partsOf(raw).group === '');
  const found = checkAcross(importObjects(inputs, namespace), [...inputs, ...others], secrets);
  return [...found.map((one) => asDocument(one, origins)), ...losses];
}

function asDocument({ manifest, ...one }: Imported, origins: ReadonlyMap<unknown, SourceDocument>): ImportedDocument {
  const source = [...origins.entries()].find(([raw]) => isSame(raw, one))?.[1];
  const object = source === undefined || source.object === 'file' ? one.object : `${one.object} of ${source.object}`;
  return { ...one, object, manifests: manifest === undefined ? [] : [manifest as Manifest] };
}

/** Objects that were made of an older configuration have its place, and their own kind and name. */
function isSame(raw: unknown, { object }: Imported): boolean {
  const { kind, name } = partsOf(raw as Readonly<Record<string, unknown>>);
  return object.startsWith(`${kind}.`) && object.endsWith(`/${name}`);
}
