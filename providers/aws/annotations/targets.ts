import { own, type AnnotationEntry } from './entry.ts';
import { matching } from './value-types.ts';

const alb = matching(
  'name or ARN of an ALB',
  /^(?:[A-Za-z0-9-]{1,32}|arn:aws[a-z-]*:elasticloadbalancing:[a-z0-9-]+:\d{12}:loadbalancer\/app\/[A-Za-z0-9-]{1,32}\/[0-9a-f]+)$/,
  'is neither the name nor the ARN of an Application Load Balancer',
);

/** Annotations that send a port to an existing Application Load Balancer. */
export const albTargetAnnotations = {
  albTarget: own('alb-target', alb, {
    default: '-',
    description:
      'Name or ARN of an existing Application Load Balancer to which [every port sends](aws.md#an-alb-as-the-target), in place of nodes or pods. It needs a listener on each of these ports.',
  }),
  albTargetOfPort: own('alb-target', alb, {
    family: 'PORT',
    default: '`herald.dev/aws-alb-target`',
    description: 'The same for one port, given by name or number.',
  }),
} as const satisfies Record<string, AnnotationEntry<never> | AnnotationEntry<unknown>>;

const targetGroup = matching(
  'ARN of a target group',
  /^arn:aws[a-z-]*:elasticloadbalancing:[a-z0-9-]+:\d{12}:targetgroup\/[A-Za-z0-9-]{1,32}\/[0-9a-f]+$/,
  'is not the ARN of a target group',
);

/** Annotations by which a Service joins the target groups of another owner. */
export const targetGroupAnnotations = {
  targetGroup: own('target-group', targetGroup, {
    default: '-',
    description:
      'ARN of an existing target group in which Herald [registers the targets of the Service](aws.md#a-target-group-of-another-owner), in place of making an NLB. Its owner must have tagged it `herald.dev/multi-cluster`.',
  }),
  targetGroupOfPort: own('target-group', targetGroup, {
    family: 'PORT',
    default: '`herald.dev/aws-target-group`',
    description: 'The same for one port, given by name or number. Then every port needs a target group.',
  }),
} as const satisfies Record<string, AnnotationEntry<never> | AnnotationEntry<unknown>>;
