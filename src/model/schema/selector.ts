import { limits } from '../limits.ts';
import { choice, list, map, object, text } from './fields.ts';

const requirement = object(
  {
    key: text({ required: 'name the label', maxLength: limits.labelKey, description: 'Name of the label.' }),
    operator: choice(['In', 'NotIn', 'Exists', 'DoesNotExist'], {
      required: 'write In, NotIn, Exists or DoesNotExist',
      description: 'How the label relates to the values.',
    }),
    values: list(text({ maxLength: limits.labelValue }), {
      maxItems: limits.selectorValues,
      description: 'One or more for In and NotIn; none for Exists and DoesNotExist.',
    }),
  },
  {
    relations: [
      {
        at: 'values',
        message: 'is required with operators In and NotIn',
        fix: 'list the values',
        cel: "!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)",
        holds: ({ operator, values = [] }) => (operator !== 'In' && operator !== 'NotIn') || values.length > 0,
        broken: { key: 'a', operator: 'In', values: undefined },
      },
      {
        at: 'values',
        message: 'must be empty with operators Exists and DoesNotExist',
        fix: 'remove the values',
        cel: "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || self.values.size() == 0",
        holds: ({ operator, values = [] }) => (operator !== 'Exists' && operator !== 'DoesNotExist') || values.length === 0,
        broken: { key: 'a', operator: 'Exists', values: ['b'] },
      },
    ],
  },
);

const terms = {
  matchLabels: map(text({ maxLength: limits.labelValue }), {
    maxEntries: limits.selectors,
    description: 'Labels that must be present with these values.',
  }),
  matchExpressions: list(requirement, { maxItems: limits.selectors, description: 'Terms that must hold.' }),
};

/** metav1.LabelSelector: all terms must hold. Without terms it selects everything. */
export function selector<const R extends string | undefined = undefined>(options: {
  readonly description: string;
  readonly required?: R & string;
}) {
  return object(terms, { ...options, called: 'selector' });
}

/** A list of selectors that selects what any of them selects. An empty list selects everything unless the field says otherwise. */
export function selectors(options: { readonly description: string; readonly unset?: string }) {
  return list(object(terms, { called: 'selector' }), { ...options, maxItems: limits.selectors, unique: true });
}
