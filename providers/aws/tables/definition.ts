import type { LoadRequest, OptionValues, ShippedProvider } from '../../../src/controller/provider-definition.ts';
import type { Provider } from '../../../src/controller/provider.ts';
import { defined } from '../../../src/lang/defined.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import { awsClasses, awsConfig } from './config/config.ts';
import { AwsMetrics, awsMetrics } from './metrics.ts';
import { awsOptions, awsOptionsOf, type AwsFlags } from './options.ts';
import { awsReasons } from './reasons/reasons.ts';

/** Parts that AWS brings to Herald. Loads nothing of the AWS SDK, which takes 35 MB and a quarter of a second, before a command enables it. */
export const awsDefinition: ShippedProvider<typeof awsMetrics> = {
  name: 'aws',
  shipped: true,
  reasons: awsReasons,
  config: awsConfig,
  classes: awsClasses,
  metrics: awsMetrics,
  options: awsOptions,
  isEnabled: ({ awsClusterName }) => awsClusterName !== undefined,
  commands: { aws: async () => (await import('./command/command.ts')).awsCommand },
  notice: {
    reason: 'EndpointServiceAvailable',
    action: 'AssignAddress',
    when: 'the load balancer of the Service has a new PrivateLink endpoint service; the note has the name that clients need',
  },
  annotationPrefix: 'herald.dev/aws-',
  // The finalizers of the AWS Load Balancer Controller.
  rivalFinalizers: ['service.k8s.aws/'],
  // Access key ids.
  secrets: [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g],
  wording: {
    resources: 'resources in AWS',
    calls: 'to AWS',
    planned: 'AWS calls',
    unread: "use --aws-cluster-name with the controller's value, and AWS credentials, to see them and the difference",
    undrawn: "are drawn with --aws-cluster-name, the controller's value, and AWS credentials",
    serves: '--aws-cluster-name: Services may get load balancers of AWS',
    failures: {
      call: 'an AWS call would change something',
      deletion: 'an AWS resource would be deleted',
      isDeletion: (operation) => operation.includes(':Delete'),
    },
  },
  examples: {
    controller: '  herald controller --aws-cluster-name production      Services of class herald.dev/aws get an NLB',
    explain: '  herald explain service shop/web --aws-cluster-name production     with its AWS resources; nothing is changed',
    plan: '  herald plan -f manifests/ --aws-cluster-name production    with the AWS calls; calls that change something are not made',
    ui: '  herald ui --aws-cluster-name production\n                                         "What if" lists the AWS calls as well; calls that change something are not made',
  },
  load,
  async claimant(options) {
    const { decideAwsClaim } = await import('../desire/claim.ts');
    const { hasOurFinalizer } = await import('../model/service-metadata.ts');
    const classless = classlessOf(options);
    return {
      name: 'aws',
      claim: (service, { config }) => decideAwsClaim(service, config, { classless }),
      holds: (_, service) => service !== undefined && hasOurFinalizer(service),
      whyClassless: (service) => whyClassless(service, classless),
    };
  },
};

async function load(request: LoadRequest<typeof awsMetrics>): Promise<readonly Provider[]> {
  const { clock, random, log, stopped, variables, version, leader, meter } = request;
  const flags = request.options as Partial<AwsFlags>;
  if (flags.awsClusterName === undefined) return leader.serviceMetadata === undefined ? [] : [await switchedOff()];
  const { openAws } = await import('../open.ts');
  const { targetPodOf } = await import('../model/pods.ts');
  const { finalizer } = await import('../model/service-metadata.ts');
  const { mayWrite, leadershipSignal: term, readPod, openPodGate } = leader;
  const read = readPod && ((namespace: string, name: string) => readPod(namespace, name).then((pod) => pod && targetPodOf(pod)));
  const pods = read === undefined ? undefined : { read, ...defined({ openGate: openPodGate }) };
  const observer = meter === undefined ? undefined : new AwsMetrics(meter);
  const components = { clock, random, log, stopped, ...defined({ mayWrite, term, observer }) };
  const metadata = leader.serviceMetadata?.(finalizer);
  const options = awsOptionsOf(flags as AwsFlags, flags.awsClusterName, variables);
  return [openAws({ ...components, ...defined({ metadata, pods }) }, { ...options, version })];
}

/** Without AWS, Services of a cluster may still have the finalizer of a controller that served AWS. */
async function switchedOff(): Promise<Provider> {
  const { SwitchedOffAws } = await import('../switched-off.ts');
  return new SwitchedOffAws();
}

function classlessOf({ awsClassless = 'off' }: OptionValues & Partial<AwsFlags>): AwsFlags['awsClassless'] {
  return awsClassless;
}

function whyClassless({ metadata }: Service, classless: string): string {
  const held = (metadata.finalizers ?? []).find((name) => name.startsWith('herald.dev/'));
  if (held !== undefined) return `it has no loadBalancerClass, and the finalizer ${held} names its provider`;
  return `it has no loadBalancerClass, and --aws-classless is ${classless}`;
}
