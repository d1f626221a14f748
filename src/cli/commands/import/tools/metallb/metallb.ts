import { isRecord } from '../../../../../lang/is-record.ts';
import { excludedInterfacesName, importObjects, type Imported, type RawInput } from '../../../../../model/metallb/import.ts';
import { reportKinds } from '../../../../../model/metallb/kinds.ts';
import { checkAcross, type SecretsRead } from '../../across-objects.ts';
import { addressPool, isAddressPool, isMetalLBConfig, metallbConfig, newerObjects } from './config.ts';
import { judged, partsOf, type ImportedDocument, type Input, type Manifest, type SourceDocument, type Tool, unnamed } from '../tool.ts';

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
  translate: (documents, input) => {
    const isReport = ({ raw }: SourceDocument): boolean => reportKinds.includes(partsOf(raw).kind);
    const configured = documents.filter((one) => !isReport(one));
    return [...importMetalLB(configured, input, files), ...documents.filter(isReport).map(report)];
  },
};

function report(document: SourceDocument): ImportedDocument {
  return judged(document, [{ level: 'note', field: 'kind', message: 'is written by MetalLB, and configures nothing', fix: '' }], []);
}

/** Imports configurations of MetalLB. `input` has the Secrets and Nodes that they refer to. */
export function importMetalLB(documents: readonly SourceDocument[], input: Input, secrets: SecretsRead): ImportedDocument[] {
  const origins = new Map<string, SourceDocument>();
  const losses: ImportedDocument[] = [];
  const inputs = documents.flatMap((document): readonly RawInput[] => {
    if (!isAddressPool(document.raw) && !isMetalLBConfig(document.raw)) return [document];
    const newer = newerObjects(document);
    if (newer.remarks.length > 0) losses.push(judged(document, newer.remarks, []));
    for (const { raw } of newer.inputs) origins.set(keyOf(raw), document);
    return newer.inputs;
  });
  const others = input.all.filter(({ raw }) => ['Secret', 'Node'].includes(partsOf(raw).kind) && partsOf(raw).group === '');
  const leftOut = new Set(input.templates.map(({ raw }) => `${partsOf(raw).kind}/${partsOf(raw).name}`));
  const found = checkAcross(importObjects(inputs, input.namespace), [...inputs, ...others], secrets, leftOut);
  return [...found.map((one) => asDocument(one, origins)), ...losses];
}

/** Objects that were made of an older configuration are named with the document that they come from. */
function asDocument({ manifest, ...one }: Imported, origins: ReadonlyMap<string, SourceDocument>): ImportedDocument {
  const kind = one.object.slice(0, one.object.indexOf('.'));
  const source = origins.get(`${kind}/${one.object.slice(one.object.lastIndexOf('/') + 1)}`);
  const object = source === undefined || source.object === unnamed ? one.object : `${one.object} of ${source.object}`;
  return { ...one, object, manifests: manifest === undefined ? [] : [manifest as Manifest] };
}

function keyOf(raw: unknown): string {
  const { kind, name } = partsOf(isRecord(raw) ? raw : {});
  return `${kind}/${name}`;
}
