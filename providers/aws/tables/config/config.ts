import { configPart } from '../../../../src/model/schema/config-part.ts';
import { limits as modelLimits } from '../../../../src/model/limits.ts';
import { boolean, choice, integer, list, object, parsed, text } from '../../../../src/model/schema/fields.ts';
import { cidr, labelName } from '../../../../src/model/schema/grammars.ts';
import type { Grammar } from '../../../../src/model/schema/schema.ts';
import { selector } from '../../../../src/model/schema/selector.ts';
import type { Value } from '../../../../src/model/schema/value.ts';
import { limits } from '../../model/limits.ts';
import { allocationId, certificateArn, loadBalancerName, principalArn, securityGroupId, subnetId, targetGroupArn } from './grammars.ts';

/** The values of spec.loadBalancerClass that the AWS provider knows. */
export const awsClasses = ['herald.dev/aws', 'herald.dev/aws-classic', 'service.k8s.aws/nlb'] as const;

const schemes = ['internal', 'internet-facing'] as const;

const allowList = (grammar: Grammar<string>, unset: string, description: string) =>
  list(parsed(grammar), { maxItems: limits.allowedPerList, unique: true, unset, description });

const policy = object({
  name: parsed(labelName, { required: 'name the policy', description: 'Name of the policy, for messages.' }),
  namespaceSelector: selector({ required: 'write {} for every namespace', description: 'The namespaces.' }),
  securityGroups: allowList(securityGroupId, 'Services name none', 'Security groups that Services may name.'),
  subnets: allowList(
    subnetId,
    'Services name none, and those that Herald discovers are allowed',
    'Subnets of load balancers, named by Services or discovered.',
  ),
  eipAllocations: allowList(allocationId, 'Services name none', 'Elastic IPs that Services may name.'),
  certificates: allowList(certificateArn, 'Services name none', 'Certificates that Services may name, or select by host name.'),
  schemes: list(choice(schemes), {
    maxItems: schemes.length,
    unique: true,
    unset: 'the default scheme',
    description: 'Schemes of load balancers, named by Services or by default.',
  }),
  loadBalancers: allowList(
    loadBalancerName,
    'Services name none',
    'Existing NLBs that Services may adopt (`herald.dev/aws-load-balancer`), and ALBs to which they may send (`herald.dev/aws-alb-target`).',
  ),
  targetGroups: allowList(
    targetGroupArn,
    'Services name none',
    'Existing target groups in which Services may register their targets (`herald.dev/aws-target-group`), and to which their listeners may send (`service.beta.kubernetes.io/actions.PROTOCOL-PORT`).',
  ),
  principals: allowList(
    principalArn,
    'Services name none',
    'Accounts, roles and users that Services may let connect by PrivateLink. `*` also allows a Service to admit everybody.',
  ),
  logBuckets: list(text({ maxLength: 63 }), {
    maxItems: limits.allowedPerList,
    unique: true,
    unset: 'Services name none',
    description: 'Buckets to which Services may let their load balancers write access logs, or `*`.',
  }),
  tagKeys: list(text({ maxLength: 128 }), {
    maxItems: limits.allowedPerList,
    unique: true,
    unset: 'Services set none',
    description: 'Keys of tags that Services may set (`aws-load-balancer-additional-resource-tags`), or `*`.',
  }),
  deletionProtection: boolean({ default: false, description: 'Services may protect their load balancers from deletion.' }),
  maximumCapacityUnits: integer({
    min: 0,
    max: 999_999_999,
    default: 0,
    description: 'Capacity units that a Service may reserve (`aws-load-balancer-minimum-load-balancer-capacity`). AWS bills them.',
  }),
});

const fields = {
  classes: list(choice(awsClasses), {
    maxItems: awsClasses.length,
    unique: true,
    unset: 'all of them',
    description:
      'The classes that Herald serves with AWS load balancers. Leave out `service.k8s.aws/nlb` where the [AWS Load Balancer Controller](aws.md#beside-the-aws-load-balancer-controller) runs.',
  }),
  targetCIDRs: list(parsed(cidr), {
    maxItems: modelLimits.cidrs,
    unset: 'none',
    description:
      'Endpoints inside these prefixes may be [targets of type `ip`](aws.md#targets) although they are not Pods. Write the prefixes of machines that any author of an EndpointSlice may publish.',
  }),
  policies: list(policy, {
    maxItems: limits.policies,
    key: 'name',
    unset: 'Services of every namespace may ask for everything',
    description:
      'What the Services of selected namespaces [may ask of AWS](aws.md#policies-for-namespaces). In a namespace that a policy selects, only listed resources are allowed. If several select it, each of them allows.',
  }),
};

const spec = object(fields, { impliedDefaults: true, unset: 'these', description: 'What Services may ask of [AWS](aws.md).' });

/** `spec.aws` of HeraldConfig. */
export const awsConfig = configPart('aws', spec, ({ classes, ...others }) => ({
  ...others,
  classes: classes.length === 0 ? awsClasses : classes,
}));

export type AwsPolicy = Value<typeof policy>;
