import { limits } from '../limits.ts';
import { choice, integer, list, object, text } from './fields.ts';
import type { Column } from './kind.ts';

export const condition = object(
  {
    type: text({ required: 'name the condition', maxLength: 316, description: 'Accepted or Ready.' }),
    status: choice(['True', 'False', 'Unknown'], { required: 'write True, False or Unknown', description: 'Whether the condition holds.' }),
    observedGeneration: integer({
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
      description:
        "The `metadata.generation` that the condition refers to. If it is older than the object's, Herald has not seen the latest edit.",
    }),
    lastTransitionTime: text({
      required: 'write the time',
      maxLength: 64,
      format: 'date-time',
      description: 'When `status` last changed.',
    }),
    reason: text({ required: 'write the code', maxLength: 1024, description: 'A code of the [catalogue](reasons.md).' }),
    message: text({ maxLength: 32_768, description: 'The reason as a sentence.' }),
  },
  { called: 'condition' },
);

/** The conditions of metav1.Condition that every kind has. */
export const conditions = list(condition, {
  key: 'type',
  maxItems: limits.conditions,
  description:
    '`Accepted`: the object is valid, does not contradict another object, and is in force; otherwise the reason says why it is not used. `Ready`: the object serves its purpose. [Fields](#conditions).',
});

/** The columns of these conditions. */
export const conditionColumns: readonly Column[] = [
  {
    name: 'Accepted',
    type: 'string',
    path: '.status.conditions[?(@.type=="Accepted")].status',
    description: 'Whether it is in force.',
  },
  {
    name: 'Ready',
    type: 'string',
    path: '.status.conditions[?(@.type=="Ready")].status',
    description: 'Whether the object serves its purpose.',
  },
  {
    name: 'Reason',
    type: 'string',
    path: '.status.conditions[?(@.type=="Accepted")].reason',
    description: 'Why it is in force, or why not.',
    wide: true,
  },
];

export const age: Column = { name: 'Age', type: 'date', path: '.metadata.creationTimestamp' };
