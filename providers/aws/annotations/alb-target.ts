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
    kinds: ['nlb'],
    default: '-',
    description:
      'Name or ARN of an existing Application Load Balancer to which [every port sends](aws.md#an-alb-as-the-target), in place of nodes or pods. It needs a listener on each of these ports.',
  }),
  albTargetOfPort: own('alb-target', alb, {
    kinds: ['nlb'],
    family: 'PORT',
    default: '`herald.dev/aws-alb-target`',
    description: 'The same for one port, given by name or number.',
  }),
} as const satisfies Record<string, AnnotationEntry<never> | AnnotationEntry<unknown>>;
