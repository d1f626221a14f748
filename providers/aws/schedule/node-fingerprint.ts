import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { annotationTable } from '../annotations/table.ts';
import { decidingLabels } from '../desire/targets/targets.ts';

/** The fields of nodes that decide about targets, as texts to compare. Nodes report their status all the time. */
export interface NodeFingerprint {
  readonly fingerprint: string;
  /** All labels; most of them do not matter here. */
  readonly labels: string;
}

export const emptyFingerprint: NodeFingerprint = { fingerprint: '', labels: '' };

/**
 * Returns the fingerprint of all nodes. It contains labels that exclude nodes or that Services select nodes by. Changes of other labels
 * (node feature discovery, autoscalers) do not change it.
 */
export function fingerprintNodes({ nodes, services }: Snapshot, before: NodeFingerprint): NodeFingerprint {
  const all = [...nodes.values()];
  const labels = JSON.stringify(all.map(({ metadata }) => metadata.labels));
  // The selected labels are looked up only when a label has changed.
  const keys = labels === before.labels ? undefined : new Set([...decidingLabels, ...askedLabels(services.values())]);
  const deciding =
    keys === undefined
      ? labelsPart(before)
      : JSON.stringify(
          all.map(({ metadata }) =>
            Object.entries(metadata.labels)
              .filter(([key]) => keys.has(key))
              .toSorted(([a], [b]) => (a < b ? -1 : 1)),
          ),
        );
  const rest = all.map(({ metadata, ready, toBeDeleted, disrupted, providerID }) => [
    metadata.name,
    metadata.deleting,
    ready,
    toBeDeleted,
    disrupted,
    providerID,
  ]);
  return { fingerprint: `${JSON.stringify(rest)}\n${deciding}`, labels };
}

const labelsPart = ({ fingerprint: text }: NodeFingerprint): string => text.slice(text.indexOf('\n') + 1);

/** The label keys as written: an invalid annotation selects no node. */
function* askedLabels(
  services: Iterable<{ readonly metadata: { readonly annotations: Readonly<Record<string, string>> } }>,
): Iterable<string> {
  for (const { metadata } of services)
    for (const item of metadata.annotations[annotationTable.targetNodeLabels.key]?.split(',') ?? []) yield item.split('=')[0]?.trim() ?? '';
}
