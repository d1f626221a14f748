import { isRecord } from '../../../../../lang/is-record.ts';
import type { Fields } from '../reading/fields.ts';

/** Labels that Cilium adds to each Service for its selectors; the Service itself does not have them. */
const namespaceLabel = 'io.kubernetes.service.namespace';
const nameLabel = 'io.kubernetes.service.name';
const ownLabels = [namespaceLabel, nameLabel, 'io.cilium.k8s.namespace.labels'];

export interface ServiceChoice {
  /** Selectors of labels. Empty: every Service. */
  readonly serviceSelectors: readonly object[];
  /** Names of namespaces. Empty: every namespace. */
  readonly namespaces: readonly string[];
}

/**
 * Reads a selector of Services. Returns undefined, with a remark, when it selects by something that Herald has no selector for; the
 * caller then must not write an object that would select more.
 */
export function serviceChoice(fields: Fields, name: string): ServiceChoice | undefined {
  const written = fields.value(name);
  if (!isRecord(written)) return { serviceSelectors: [], namespaces: [] };
  const namespaces: string[] = [];
  const matchLabels: Record<string, unknown> = {};
  const matchExpressions: unknown[] = [];
  const unsupported: string[] = [];
  for (const [label, value] of Object.entries(isRecord(written['matchLabels']) ? written['matchLabels'] : {})) {
    if (label === namespaceLabel) namespaces.push(String(value));
    else if (ownLabels.some((own) => label.startsWith(own))) unsupported.push(label);
    else matchLabels[label] = value;
  }
  for (const one of Array.isArray(written['matchExpressions']) ? written['matchExpressions'] : []) {
    const { key, operator, values } = isRecord(one) ? one : {};
    if (key === namespaceLabel && operator === 'In' && Array.isArray(values) && namespaces.length === 0)
      namespaces.push(...values.map(String));
    else if (typeof key === 'string' && ownLabels.some((own) => key.startsWith(own))) unsupported.push(key);
    else matchExpressions.push(one);
  }
  if (unsupported.length > 0) {
    fields.refuse(
      name,
      `selects by ${unsupported.join(' and ')}, which Cilium adds to a Service`,
      'label the Services, and select by that label',
    );
    return undefined;
  }
  const selector = {
    ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }),
    ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
  };
  return { serviceSelectors: Object.keys(selector).length === 0 ? [] : [selector], namespaces };
}

/** Reads a selector for an advertisement, which cannot select by namespace. */
export function labelChoice(fields: Fields, name: string): readonly object[] | undefined {
  const choice = serviceChoice(fields, name);
  if (choice === undefined || choice.namespaces.length === 0) return choice?.serviceSelectors;
  const fix = 'label the Services of the namespace, and write serviceSelectors; or use a pool of that namespace, and write ipAddressPools';
  fields.refuse(name, `selects by namespace (${choice.namespaces.join(', ')}), which an advertisement of Herald cannot`, fix);
  return undefined;
}
