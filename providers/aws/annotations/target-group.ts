import { own, type AnnotationEntry } from './entry.ts';
import { matching } from './value-types.ts';

const targetGroup = matching(
  'ARN of a target group',
  /^arn:aws[a-z-]*:elasticloadbalancing:[a-z0-9-]+:\d{12}:targetgroup\/[A-Za-z0-9-]{1,32}\/[0-9a-f]+$/,
  'is not the ARN of a target group',
);

/** Annotations by which a Service joins the target groups of another owner. */
export const targetGroupAnnotations = {
  targetGroup: own('target-group', targetGroup, {
    kinds: ['nlb'],
    default: '-',
    description:
      'ARN of an existing target group in which Herald [registers the targets of the Service](aws.md#a-target-group-of-another-owner), in place of making an NLB. Its owner must have tagged it `herald.dev/multi-cluster`.',
  }),
  targetGroupOfPort: own('target-group', targetGroup, {
    kinds: ['nlb'],
    family: 'PORT',
    default: '`herald.dev/aws-target-group`',
    description: 'The same for one port, given by name or number. Then every port needs a target group.',
  }),
} as const satisfies Record<string, AnnotationEntry<never> | AnnotationEntry<unknown>>;
