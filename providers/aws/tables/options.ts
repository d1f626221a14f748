import type { ProviderOption } from '../../../src/controller/provider-definition.ts';
import { defined } from '../../../src/lang/defined.ts';
import { invalid, parsed, type Parsed } from '../../../src/net/parsed.ts';
import { isReservedKey } from '../model/tags.ts';

/** The AWS flags of the command line. The provider is loaded only when a cluster name is given. */
export interface AwsFlags {
  readonly awsClusterName?: string;
  readonly awsTakeOver: readonly string[];
  readonly awsRegion?: string;
  readonly awsVpcId?: string;
  readonly awsClassless: 'off' | 'legacy' | 'classic';
  readonly awsDefaultScheme: 'internal' | 'internet-facing';
  readonly awsDefaultTargetType: 'instance' | 'ip';
  readonly awsDefaultSslPolicy?: string;
  readonly awsDefaultTags: Readonly<Record<string, string>>;
  readonly awsUpstreamBackendHttps: boolean;
  readonly awsCertificateDiscovery: boolean;
  readonly awsNodeRules: 'manage' | 'leave';
  readonly awsRetireSeconds?: number;
  readonly awsLastTargetSeconds?: number;
  readonly awsOrphanSeconds?: number;
}

/** The options that AWS adds to `controller`, `explain service`, `plan` and `ui`. */
export const awsOptions: readonly ProviderOption[] = [
  {
    flags: '--aws-cluster-name <name>',
    description:
      'serve Services with AWS load balancers; everything that Herald creates carries this name in its tags, by which it recognizes its own resources',
    parse: readClusterName,
  },
  {
    flags: '--aws-take-over <uids>',
    description:
      'UID,... of former clusters with this name, whose load balancers this one takes over: the UIDs of their Namespace kube-system',
    parse: readUids,
    default: [],
    defaultText: 'none',
  },
  { flags: '--aws-region <region>', description: 'default: AWS_REGION, AWS_DEFAULT_REGION, else the region of the nodes' },
  { flags: '--aws-vpc-id <id>', description: 'default: the VPC of the nodes', parse: readVpcId },
  {
    flags: '--aws-classless <mode>',
    description:
      'Services without loadBalancerClass to serve: off: none, legacy: those with aws-load-balancer-type, classic: all, as Classic ELBs unless their type says otherwise',
    choices: ['off', 'legacy', 'classic'],
    default: 'off',
  },
  {
    flags: '--aws-default-scheme <scheme>',
    description: 'default scheme of load balancers whose Service does not name one',
    choices: ['internal', 'internet-facing'],
    default: 'internal',
  },
  {
    flags: '--aws-default-target-type <type>',
    description: 'default targets of an NLB: nodes by their NodePort, or pods',
    choices: ['instance', 'ip'],
    default: 'instance',
  },
  { flags: '--aws-default-ssl-policy <name>', description: 'default security policy of TLS listeners of NLBs' },
  {
    flags: '--aws-default-tags <tags>',
    description: 'KEY=VALUE,... tags of every resource that Herald creates',
    parse: readTags,
    default: {},
    defaultText: 'none',
  },
  {
    flags: '--aws-upstream-backend-https',
    description: 'send plain text to the pods when an NLB has backend-protocol https, as the upstream controller does',
    default: false,
  },
  { flags: '--aws-certificate-discovery', description: 'search ACM for certificates by host name', default: false },
  {
    flags: '--aws-node-rules <mode>',
    description: 'add rules to the security groups of nodes, so that load balancers reach them',
    choices: ['manage', 'leave'],
    default: 'manage',
  },
  {
    flags: '--aws-retire-seconds <seconds>',
    description: 'how long an old load balancer stays after its replacement has taken over',
    parse: readSeconds,
  },
  {
    flags: '--aws-last-target-seconds <seconds>',
    description: 'how long the last targets of a Service stay registered when no Node or Pod can be a target any more; 0: not at all',
    parse: readSeconds,
  },
  {
    flags: '--aws-orphan-seconds <seconds>',
    description: 'how long a resource of Herald without a Service stays marked before it is deleted',
    parse: readSeconds,
  },
];

/** Converts the flags and environment variables into provider options. Options that neither sets are left to the provider's defaults. */
export function awsOptionsOf(flags: AwsFlags, clusterName: string, variables: Readonly<Record<string, string | undefined>>) {
  const region = flags.awsRegion ?? variables['AWS_REGION'] ?? variables['AWS_DEFAULT_REGION'];
  return {
    clusterName,
    takeOver: flags.awsTakeOver,
    ...(region === undefined || region === '' ? {} : { region }),
    ...defined({ vpcId: flags.awsVpcId }),
    classless: flags.awsClassless,
    defaultScheme: flags.awsDefaultScheme,
    defaultTargetType: flags.awsDefaultTargetType,
    ...defined({ defaultSslPolicy: flags.awsDefaultSslPolicy }),
    defaultTags: flags.awsDefaultTags,
    upstreamBackendHttps: flags.awsUpstreamBackendHttps,
    certificateDiscovery: flags.awsCertificateDiscovery,
    manageNodeRules: flags.awsNodeRules === 'manage',
    ...defined({
      retireSeconds: flags.awsRetireSeconds,
      lastTargetSeconds: flags.awsLastTargetSeconds,
      orphanSeconds: flags.awsOrphanSeconds,
    }),
  };
}

/** The cluster name becomes a tag value (at most 256 characters) and part of a security group's name. */
export function readClusterName(text: string): Parsed<string> {
  if (!/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$/.test(text)) return invalid('Write at most 100 letters, digits, ".", "_" and "-".');
  return parsed(text);
}

/** Former clusters. More than one has a resource only where a take-over was not completed. */
const mostUids = 10;

function readUids(text: string): Parsed<readonly string[]> {
  const uids = text.split(',').map((one) => one.trim().toLowerCase());
  if (uids.length > mostUids || !uids.every((one) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(one)))
    return invalid('Write the UIDs that `kubectl get namespace kube-system -o jsonpath={.metadata.uid}` prints, at most 10.');
  return parsed(uids);
}

function readVpcId(text: string): Parsed<string> {
  if (!/^vpc-[0-9a-f]+$/.test(text)) return invalid('Write vpc-0123456789abcdef0.');
  return parsed(text);
}

const longest = 30 * 24 * 3600;

function readSeconds(text: string): Parsed<number> {
  const seconds = Number(text);
  if (!/^[0-9]{1,7}$/.test(text) || seconds > longest) return invalid(`Write seconds, at most ${longest} (30 days).`);
  return parsed(seconds);
}

/** AWS allows 50 tags on a resource. Some are Herald's, and some are the Service's. */
const mostTags = 30;

function readTags(text: string): Parsed<Readonly<Record<string, string>>> {
  const pairs: [string, string][] = [];
  for (const pair of text.split(',')) {
    const [, key = '', value = ''] = /^([^=]+)=(.*)$/s.exec(pair.trim()) ?? [];
    if (key === '' || key.length > 128 || value.length > 256) return invalid('Write KEY=VALUE,KEY=VALUE.');
    if (isReservedKey(key)) return invalid(`${key} is reserved for Herald.`);
    pairs.push([key, value]);
  }
  if (pairs.length > mostTags) return invalid(`Write at most ${mostTags} tags.`);
  return parsed(Object.fromEntries(pairs));
}
