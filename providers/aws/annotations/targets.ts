import { own, type AnnotationEntry } from './entry.ts';
import { invalid, parsed } from '../../../src/net/parsed.ts';
import { list, matching, type ValueType } from './value-types.ts';

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

const namespace = list('namespaces', (text) =>
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text) ? parsed(text) : invalid('is not the name of a namespace'),
);

/** The names go into one tag, separated by spaces. */
const namespacesInTag: ValueType<readonly string[]> = {
  name: namespace.name,
  read(text) {
    const names = namespace.read(text);
    const length = names.ok ? names.value.join(' ').length : 0;
    return length > 256 ? invalid(`has names of ${length} characters, and a tag of AWS takes 256`) : names;
  },
};

/** Annotations by which a Service joins the target groups of another owner, or lets others join its own. */
export const targetGroupAnnotations = {
  targetGroup: own('target-group', targetGroup, {
    default: '-',
    description:
      'ARN of an existing target group in which Herald [registers the targets of the Service](aws.md#a-target-group-of-another-owner), in place of making an NLB. Its owner must have tagged it `herald.dev/multi-cluster`, and `herald.dev/namespaces` with the namespace of the Service.',
  }),
  targetGroupOfPort: own('target-group', targetGroup, {
    family: 'PORT',
    default: '`herald.dev/aws-target-group`',
    description: 'The same for one port, given by name or number. Then every port needs a target group.',
  }),
  targetGroupNamespaces: own('target-group-namespaces', namespacesInTag, {
    default: 'the namespace of the Service',
    description:
      'With `aws-load-balancer-multi-cluster-target-group`: the namespaces whose Services may [register targets](aws.md#a-target-group-of-another-owner) in the target groups, besides its own.',
  }),
} as const satisfies Record<string, AnnotationEntry<never> | AnnotationEntry<unknown>>;
