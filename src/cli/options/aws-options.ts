import { InvalidArgumentError, Option, type Command } from 'commander';
import { defined } from '../../lang/defined.ts';

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
  readonly awsOrphanSeconds?: number;
}

export function addAwsOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--aws-cluster-name <name>',
        'serve Services with AWS load balancers; everything that Herald creates carries this name in its tags, by which it recognizes its own resources',
      ).argParser(readClusterName),
    )
    .addOption(
      new Option(
        '--aws-take-over <uids>',
        'UID,... of former clusters with this name, whose load balancers this one takes over: the UIDs of their Namespace kube-system',
      )
        .argParser(readUids)
        .default([], 'none'),
    )
    .addOption(new Option('--aws-region <region>', 'default: AWS_REGION, AWS_DEFAULT_REGION, else the region of the nodes'))
    .addOption(new Option('--aws-vpc-id <id>', 'default: the VPC of the nodes').argParser(readVpcId))
    .addOption(
      new Option(
        '--aws-classless <mode>',
        'Services without loadBalancerClass to serve: off: none, legacy: those with aws-load-balancer-type, classic: all, as Classic ELBs unless their type says otherwise',
      )
        .choices(['off', 'legacy', 'classic'])
        .default('off'),
    )
    .addOption(
      new Option('--aws-default-scheme <scheme>', 'default scheme of load balancers whose Service does not name one')
        .choices(['internal', 'internet-facing'])
        .default('internal'),
    )
    .addOption(
      new Option('--aws-default-target-type <type>', 'default targets of an NLB: nodes by their NodePort, or pods')
        .choices(['instance', 'ip'])
        .default('instance'),
    )
    .addOption(new Option('--aws-default-ssl-policy <name>', 'default security policy of TLS listeners of NLBs'))
    .addOption(
      new Option('--aws-default-tags <tags>', 'KEY=VALUE,... tags of every resource that Herald creates')
        .argParser(readTags)
        .default({}, 'none'),
    )
    .addOption(
      new Option(
        '--aws-upstream-backend-https',
        'send plain text to the pods when an NLB has backend-protocol https, as the upstream controller does',
      ).default(false),
    )
    .addOption(new Option('--aws-certificate-discovery', 'search ACM for certificates by host name').default(false))
    .addOption(
      new Option('--aws-node-rules <mode>', 'add rules to the security groups of nodes, so that load balancers reach them')
        .choices(['manage', 'leave'])
        .default('manage'),
    )
    .addOption(
      new Option('--aws-retire-seconds <seconds>', 'how long an old load balancer stays after its replacement has taken over').argParser(
        readSeconds,
      ),
    )
    .addOption(
      new Option(
        '--aws-orphan-seconds <seconds>',
        'how long a resource of Herald without a Service stays marked before it is deleted',
      ).argParser(readSeconds),
    );
}

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
    ...defined({ retireSeconds: flags.awsRetireSeconds, orphanSeconds: flags.awsOrphanSeconds }),
  };
}

/** The cluster name becomes a tag value (at most 256 characters) and part of a security group's name. */
export function readClusterName(text: string): string {
  if (!/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$/.test(text))
    throw new InvalidArgumentError('Write at most 100 letters, digits, ".", "_" and "-".');
  return text;
}

/** Former clusters. More than one has a resource only where a take-over was not completed. */
const mostUids = 10;

function readUids(text: string): readonly string[] {
  const uids = text.split(',').map((one) => one.trim().toLowerCase());
  if (uids.length > mostUids || !uids.every((one) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(one)))
    throw new InvalidArgumentError(
      'Write the UIDs that `kubectl get namespace kube-system -o jsonpath={.metadata.uid}` prints, at most 10.',
    );
  return uids;
}

function readVpcId(text: string): string {
  if (!/^vpc-[0-9a-f]+$/.test(text)) throw new InvalidArgumentError('Write vpc-0123456789abcdef0.');
  return text;
}

const longest = 30 * 24 * 3600;

function readSeconds(text: string): number {
  const seconds = Number(text);
  if (!/^[0-9]{1,7}$/.test(text) || seconds > longest) throw new InvalidArgumentError(`Write seconds, at most ${longest} (30 days).`);
  return seconds;
}

/** AWS allows 50 tags on a resource. Some are Herald's, and some are the Service's. */
const mostTags = 30;

function readTags(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').map((pair): [string, string] => {
    const [, key = '', value = ''] = /^([^=]+)=(.*)$/s.exec(pair.trim()) ?? [];
    if (key === '' || key.length > 128 || value.length > 256) throw new InvalidArgumentError('Write KEY=VALUE,KEY=VALUE.');
    if (key.startsWith('aws:') || key.startsWith('herald.dev/')) throw new InvalidArgumentError(`${key} is reserved for Herald.`);
    return [key, value];
  });
  if (pairs.length > mostTags) throw new InvalidArgumentError(`Write at most ${mostTags} tags.`);
  return Object.fromEntries(pairs);
}
