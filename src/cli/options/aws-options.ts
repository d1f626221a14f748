import { InvalidArgumentError, Option, type Command } from 'commander';
import { defined } from '../../lang/defined.ts';

/** What the command line says of AWS. The provider is loaded only where there is a cluster name. */
export interface AwsFlags {
  readonly awsClusterName?: string;
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
        'serve Services by load balancers of AWS; the name is in the tags of all that is made, by which Herald knows what is its own',
      ).argParser(readClusterName),
    )
    .addOption(new Option('--aws-region <region>', 'default: AWS_REGION, AWS_DEFAULT_REGION, else the region of the nodes'))
    .addOption(new Option('--aws-vpc-id <id>', 'default: the VPC of the nodes').argParser(readVpcId))
    .addOption(
      new Option(
        '--aws-classless <mode>',
        'Services without loadBalancerClass: off: none, legacy: those with aws-load-balancer-type, classic: all, as Classic ELBs unless their type says otherwise',
      )
        .choices(['off', 'legacy', 'classic'])
        .default('off'),
    )
    .addOption(
      new Option('--aws-default-scheme <scheme>', 'of a load balancer whose Service does not say')
        .choices(['internal', 'internet-facing'])
        .default('internal'),
    )
    .addOption(
      new Option('--aws-default-target-type <type>', 'what an NLB sends to: nodes by their NodePort, or pods')
        .choices(['instance', 'ip'])
        .default('instance'),
    )
    .addOption(new Option('--aws-default-ssl-policy <name>', 'security policy of TLS listeners of NLBs'))
    .addOption(new Option('--aws-default-tags <tags>', 'KEY=VALUE,... on all that is made').argParser(readTags).default({}, 'none'))
    .addOption(
      new Option(
        '--aws-upstream-backend-https',
        'backend-protocol https on an NLB means plain text to the pods, as upstream has it',
      ).default(false),
    )
    .addOption(new Option('--aws-certificate-discovery', 'look for certificates in ACM by host name').default(false))
    .addOption(
      new Option('--aws-node-rules <mode>', 'rules of the security groups of nodes, so that load balancers reach them')
        .choices(['manage', 'leave'])
        .default('manage'),
    )
    .addOption(
      new Option('--aws-retire-seconds <seconds>', 'how long a load balancer stays after another one has taken over').argParser(
        readSeconds,
      ),
    )
    .addOption(
      new Option('--aws-orphan-seconds <seconds>', 'how long something of ours without a Service is marked before it is deleted').argParser(
        readSeconds,
      ),
    );
}

/** What the provider is told: only what the command line or the environment says, the rest is the provider's own. */
export function awsOptionsOf(flags: AwsFlags, clusterName: string, variables: Readonly<Record<string, string | undefined>>) {
  const region = flags.awsRegion ?? variables['AWS_REGION'] ?? variables['AWS_DEFAULT_REGION'];
  return {
    clusterName,
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

/** It becomes the value of a tag (at most 256 characters) and part of the name of a security group. */
function readClusterName(text: string): string {
  if (!/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$/.test(text))
    throw new InvalidArgumentError('Write at most 100 letters, digits, ".", "_" and "-".');
  return text;
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

/** AWS allows 50 tags on a thing; some are ours, some are the Service's. */
const mostTags = 30;

function readTags(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').map((pair): [string, string] => {
    const [, key = '', value = ''] = /^([^=]+)=(.*)$/s.exec(pair.trim()) ?? [];
    if (key === '' || key.length > 128 || value.length > 256) throw new InvalidArgumentError('Write KEY=VALUE,KEY=VALUE.');
    if (key.startsWith('aws:') || key.startsWith('herald.dev/')) throw new InvalidArgumentError(`${key} is not for you to set.`);
    return [key, value];
  });
  if (pairs.length > mostTags) throw new InvalidArgumentError(`Write at most ${mostTags} tags.`);
  return Object.fromEntries(pairs);
}
