import { invalid, parsed } from '../../../../src/net/parsed.ts';
import { matches } from '../../../../src/model/schema/cel.ts';
import type { Grammar } from '../../../../src/model/schema/schema.ts';

/** Stands for every resource of a kind in the lists of `spec.aws.policies`. */
export const everyOne = '*';

interface Form {
  /** Singular and plural names on the reference page. */
  readonly called: string;
  readonly plural: string;
  /** A regular expression for the whole text, in the syntax that CEL and JavaScript share. */
  readonly pattern: string;
  readonly example: string;
  readonly maxLength: number;
  readonly broken: string;
}

/** The grammar of an entry of an allow-list: `*`, or a text that names exactly one resource. Name tags do not: anyone may repeat them. */
function allowed({ called, plural, pattern, example, maxLength, broken }: Form): Grammar<string> {
  const whole = new RegExp(`^${pattern}$`);
  const fix = `write ${called} such as ${example}, or ${everyOne} for every one`;
  return {
    called: `${called} or \`${everyOne}\``,
    plural: `${plural} or \`${everyOne}\``,
    parse: (text) => (text === everyOne || whole.test(text) ? parsed(text) : invalid(`neither ${called} nor ${everyOne}: ${fix}`)),
    example,
    maxLength,
    rules: [
      { cel: `self == '${everyOne}' || ${matches('self', `^${pattern}$`)}`, message: `is neither ${called} nor ${everyOne}`, fix, broken },
    ],
  };
}

/** AWS has ids of 8 and of 17 hexadecimal digits. */
const idOf = (prefix: string, called: string, plural: string, broken: string): Grammar<string> =>
  allowed({
    called,
    plural,
    pattern: `${prefix}-[0-9a-f]{8,17}`,
    example: `${prefix}-0123456789abcdef0`,
    maxLength: prefix.length + 18,
    broken,
  });

export const securityGroupId = idOf('sg', 'a security group id', 'security group ids', 'web');
export const subnetId = idOf('subnet', 'a subnet id', 'subnet ids', 'public-a');
export const allocationId = idOf('eipalloc', 'an allocation id', 'allocation ids', '198.51.100.7');

export const certificateArn = allowed({
  called: 'the ARN of a certificate',
  plural: 'ARNs of certificates',
  pattern: 'arn:aws[a-z-]*:(acm:[a-z0-9-]+:[0-9]{12}:certificate|iam::[0-9]{12}:server-certificate)/[^ ]+',
  example: 'arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012',
  maxLength: 200,
  broken: 'arn:aws:acm:eu-west-1:123456789012:web',
});

export const targetGroupArn = allowed({
  called: 'the ARN of a target group',
  plural: 'ARNs of target groups',
  pattern: 'arn:aws[a-z-]*:elasticloadbalancing:[a-z0-9-]+:[0-9]{12}:targetgroup/[A-Za-z0-9-]{1,32}/[0-9a-f]+',
  example: 'arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/shop/0123456789abcdef',
  maxLength: 140,
  broken: 'shop',
});

export const principalArn = allowed({
  called: 'the ARN of an account, role or user',
  plural: 'ARNs of accounts, roles and users',
  pattern: 'arn:aws[a-z-]*:iam::[0-9]{12}:(root|role/[^ ]+|user/[^ ]+)',
  example: 'arn:aws:iam::123456789012:root',
  maxLength: 200,
  broken: '123456789012',
});

export const loadBalancerName = allowed({
  called: 'the name or ARN of an NLB or ALB',
  plural: 'names or ARNs of NLBs and ALBs',
  pattern:
    '([A-Za-z0-9-]{1,32}|arn:aws[a-z-]*:elasticloadbalancing:[a-z0-9-]+:[0-9]{12}:loadbalancer/(net|app)/[A-Za-z0-9-]{1,32}/[0-9a-f]+)',
  example: 'shop-nlb',
  maxLength: 140,
  broken: 'arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/gwy/shop/1',
});
