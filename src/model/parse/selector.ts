import { limits } from '../limits.ts';
import type { LabelSelector, LabelSelectorRequirement } from '../selector.ts';
import type { Fields } from './fields.ts';

/** A list of metav1.LabelSelector, without duplicates. */
export function readSelectors(fields: Fields, name: string): LabelSelector[] {
  const seen = new Set<string>();
  return fields.objects(name, limits.selectors).map((item, index) => {
    const selector = readSelector(item);
    const text = canonical(selector);
    if (seen.has(text)) fields.problem([name, index], 'is the same selector as one before', 'remove it');
    seen.add(text);
    return selector;
  });
}

/** metav1.LabelSelector: In and NotIn have values, Exists and DoesNotExist have none. */
export function readSelector(fields: Fields): LabelSelector {
  const matchLabels = fields.textMap('matchLabels');
  const matchExpressions = fields.objects('matchExpressions', limits.selectors).flatMap((item): LabelSelectorRequirement[] => {
    item.require('key', 'name the label');
    item.require('operator', 'write In, NotIn, Exists or DoesNotExist');
    const key = item.text('key') ?? '';
    const operator = item.oneOf('operator', ['In', 'NotIn', 'Exists', 'DoesNotExist']);
    const values = item.texts('values', limits.selectorValues);
    if (operator === undefined) return [];
    const needsValues = operator === 'In' || operator === 'NotIn';
    if (needsValues && !item.has('values')) item.problem('values', `is required with operator ${operator}`, 'list the values');
    if (!needsValues && values.length > 0) item.problem('values', `must be empty with operator ${operator}`, 'remove the values');
    return [{ key, operator, values }];
  });
  return { matchLabels, matchExpressions };
}

function canonical({ matchLabels, matchExpressions }: LabelSelector): string {
  const expressions = matchExpressions.map(({ key, operator, values }) => JSON.stringify([key, operator, [...values].sort()]));
  return JSON.stringify([
    Object.keys(matchLabels)
      .sort()
      .map((key) => [key, matchLabels[key]]),
    expressions.sort(),
  ]);
}
