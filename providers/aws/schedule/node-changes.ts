import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { annotationTable } from '../annotations/table.ts';
import { decidingLabels } from '../desire/targets.ts';

/** What of the nodes decides about load balancers, as texts to compare: nodes report themselves all the time. */
export interface NodeFingerprint {
  readonly fingerprint: string;
  /** All labels, of which most mean nothing here. */
  readonly labels: string;
}

export const emptyFingerprint: NodeFingerprint = { fingerprint: '', labels: '' };

/**
 * Whether something has changed that decides about targets. Labels do where they leave nodes out, or where a Service asks for nodes by them; what others write
 * to nodes (node feature discovery, autoscalers) costs no look at any load balancer.
 */
export function fingerprintNodes({ nodes, services }: Snapshot, before: NodeFingerprint): NodeFingerprint {
  const all = [...nodes.values()];
  const labels = JSON.stringify(all.map(({ metadata }) => metadata.labels));
  // Which labels are asked for is looked up only when one has changed.
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

/** Keys, as they are written: what is no valid annotation asks for nothing. */
function* askedLabels(
  services: Iterable<{ readonly metadata: { readonly annotations: Readonly<Record<string, string>> } }>,
): Iterable<string> {
  for (const { metadata } of services)
    for (const item of metadata.annotations[annotationTable.targetNodeLabels.key]?.split(',') ?? []) yield item.split('=')[0]?.trim() ?? '';
}
