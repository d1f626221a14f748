import { isRecord } from '../../../lang/is-record.ts';
import type { Remark } from '../../../model/metallb/import.ts';
import type { ImportedDocument, Manifest } from './tools/tool.ts';

/**
 * Labels and annotations by which Argo CD, Flux, Helm and kubectl recognise what they applied. A copy that has them, and is not in their
 * files, would be deleted when they prune.
 */
const owners = [
  /^argocd\.argoproj\.io\//,
  /^(?:kustomize|helm)\.toolkit\.fluxcd\.io\//,
  /^meta\.helm\.sh\//,
  /^helm\.sh\//,
  /^app\.kubernetes\.io\/(?:instance|managed-by)$/,
  /^app\.argoproj\.io\//,
  /^objectset\.rio\.cattle\.io\//,
  /^kubectl\.kubernetes\.io\/last-applied-configuration$/,
];

const isOwnership = (name: string): boolean => owners.some((pattern) => pattern.test(name));

/** Removes marks of ownership from the manifests, and says so. A selector that uses one of them is reported as lost. */
export function withOwnership(document: ImportedDocument): ImportedDocument {
  const removed = new Set<string>();
  const manifests = document.manifests.map((one) => withoutMarks(one, removed));
  const used = new Set(document.manifests.flatMap(({ spec }) => selectorKeys(spec)).filter(isOwnership));
  const remarks: Remark[] = [...used].map((name) => ({
    level: 'differs',
    field: 'spec',
    message: `selects by ${name}, a label of the program that owns the objects, which is not copied`,
    fix: 'select by another label, or by name',
  }));
  if (removed.size > 0)
    remarks.push({
      level: 'note',
      field: 'metadata',
      message: `is without ${[...removed].toSorted().join(', ')}: with it, the program that owns the old object could delete the new one`,
      fix: '',
    });
  if (remarks.length === 0) return document;
  const verdict = used.size > 0 && document.verdict === 'exact' ? 'differs' : document.verdict;
  return { ...document, verdict, manifests, remarks: [...document.remarks, ...remarks] };
}

function withoutMarks(one: Manifest, removed: Set<string>): Manifest {
  const metadata = Object.fromEntries(
    Object.entries(one.metadata).flatMap(([field, value]) => {
      if ((field !== 'labels' && field !== 'annotations') || !isRecord(value)) return [[field, value]];
      const kept = Object.entries(value).filter(([name]) => !isOwnership(name));
      for (const name of Object.keys(value)) if (isOwnership(name)) removed.add(name);
      return kept.length === 0 ? [] : [[field, Object.fromEntries(kept)]];
    }),
  );
  return { ...one, metadata };
}

/** Keys of labels that selectors of pools in a spec use. */
function selectorKeys(spec: unknown): string[] {
  if (!isRecord(spec) || !Array.isArray(spec['ipAddressPoolSelectors'])) return [];
  return spec['ipAddressPoolSelectors']
    .filter(isRecord)
    .flatMap(({ matchLabels, matchExpressions }) => [
      ...Object.keys(isRecord(matchLabels) ? matchLabels : {}),
      ...(Array.isArray(matchExpressions) ? matchExpressions.filter(isRecord).map(({ key }) => String(key)) : []),
    ]);
}
