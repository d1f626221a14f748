import type { Labels } from './metadata.ts';

/** A validated metav1.LabelSelector. All terms must hold; without terms it selects everything. */
export interface LabelSelector {
  readonly matchLabels: Labels;
  readonly matchExpressions: readonly LabelSelectorRequirement[];
}

interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values: readonly string[];
}

export function selects(selector: LabelSelector, labels: Labels): boolean {
  return (
    Object.entries(selector.matchLabels).every(([key, value]) => labels[key] === value) &&
    selector.matchExpressions.every((requirement) => requirementHolds(requirement, labels))
  );
}

/** True when any selector matches or the list is empty, as MetalLB defines lists of selectors. */
export function anySelects(selectors: readonly LabelSelector[], labels: Labels): boolean {
  return selectors.length === 0 || selectors.some((selector) => selects(selector, labels));
}

/** A missing label satisfies NotIn and DoesNotExist, as in Kubernetes. */
function requirementHolds({ key, operator, values }: LabelSelectorRequirement, labels: Labels): boolean {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
