import { isRecord } from '../../../../../lang/is-record.ts';

const hostname = 'kubernetes.io/hostname';

/** Selects one node. Every Kubernetes distribution sets the label; its value is the node's host name. */
export const oneNode = (node: string): object => ({ matchLabels: { [hostname]: node } });

/** Adds to a selector that it selects only, or not, the named nodes. */
export function limitedTo(selector: unknown, operator: 'In' | 'NotIn', nodes: readonly string[]): object {
  const written = isRecord(selector) ? selector : {};
  const expressions: readonly unknown[] = Array.isArray(written['matchExpressions']) ? written['matchExpressions'] : [];
  return { ...written, matchExpressions: [...expressions, { key: hostname, operator, values: nodes }] };
}
