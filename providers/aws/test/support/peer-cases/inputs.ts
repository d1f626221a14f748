import { defined } from '../../../../../src/lang/defined.ts';
import type { Circumstances } from '../../../../../providers/aws/model/circumstances.ts';
import type { Existing, SubnetFact } from '../../../../../providers/aws/model/facts.ts';
import type { AwsSettings } from '../../../../../providers/aws/model/settings.ts';
import { balancerPrefix, type BalancerKind } from '../../../../../providers/aws/annotations/entry.ts';
import { parseObject } from '../../../../../src/model/parse.ts';
import type { Node } from '../../../../../src/model/objects/cluster.ts';
import type { Service } from '../../../../../src/model/objects/service.ts';
import { metadata, slice } from '../../../../../test/unit/decisions/fixtures.ts';
import { settings } from '../stack-fixture.ts';

/** A Service in short form. */
export interface ServiceInput {
  /** "NAMESPACE/NAME". */
  readonly name?: string;
  /** Keys without a "/" get the prefix "service.beta.kubernetes.io/aws-load-balancer-". */
  readonly annotations?: Readonly<Record<string, string>>;
  /** "NAME PORT>TARGETPORT/PROTOCOL@NODEPORT", where the name, the target port and the NodePort may be absent. */
  readonly ports?: readonly string[];
  /** Further fields of the spec, as in a manifest. */
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly finalizers?: readonly string[];
  /** The Service is being deleted. */
  readonly deleting?: boolean;
}

/** Everything besides the Service. */
export interface Given {
  /** The Service gets a loadBalancerClass of this kind. Default: the Service itself says which kind it is. */
  readonly kind?: BalancerKind;
  /** "ID ZONE CIDR IPV6CIDR" and words such as "public", "untagged", "free=4" or "tag:KEY=VALUE"; or how many subnets there are. */
  readonly subnets?: number | readonly string[];
  readonly vpc?: readonly string[];
  /** Names of security groups, by id. */
  readonly securityGroups?: Readonly<Record<string, string>>;
  readonly settings?: Partial<AwsSettings>;
  /** The load balancer that the Service has already: an NLB, or of the given kind. */
  readonly existing?: Existing & { readonly kind?: BalancerKind };
  /** "NAME INSTANCE" and words such as "notready", "leaving" or "label:KEY=VALUE". */
  readonly nodes?: readonly string[];
  /** The nodes before the edit, in a case about changes. */
  readonly nodesBefore?: readonly string[];
  /** Addresses of ready pods behind each port. Default: one pod of the Service's family. */
  readonly pods?: readonly string[];
}

/** What another program has changed in AWS before the edit. */
export interface Drift {
  readonly tags?: Readonly<Record<string, string>>;
  readonly targetGroupAttributes?: Readonly<Record<string, string>>;
  readonly attributes?: Readonly<Record<string, string>>;
}

const portPattern = /^(?:(?<name>\S+) )?(?<port>\d+)(?:>(?<target>[\w-]+))?\/(?<protocol>[A-Z]+)(?:@(?<node>\d+))?$/;

function portOf(text: string, index: number): Record<string, unknown> {
  const { name = `port-${index}`, port, target, protocol, node } = portPattern.exec(text)?.groups ?? {};
  if (port === undefined) throw new RangeError(`not a port: ${text}`);
  const targetPort = target === undefined || /^\d+$/.test(target) ? Number(target ?? port) : target;
  return { name, port: Number(port), targetPort, protocol, ...(node === undefined ? {} : { nodePort: Number(node) }) };
}

const classOf = { nlb: 'service.k8s.aws/nlb', classic: 'herald.dev/aws-classic' } as const;

/** Parses a Service. Returns undefined if it is no valid manifest. */
export function serviceOf(input: ServiceInput, { kind }: Given): Service | undefined {
  const { name = 'default/web', annotations = {}, ports = ['80/TCP@30080'], spec = {}, finalizers = [], deleting = false } = input;
  const [namespace = '', bare = ''] = name.split('/');
  const keyed = Object.entries(annotations).map(([key, value]) => [key.includes('/') ? key : `${balancerPrefix}${key}`, value]);
  const isSix = Array.isArray(spec['ipFamilies']) && spec['ipFamilies'][0] === 'IPv6';
  const { object, problems } = parseObject({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      namespace,
      name: bare,
      finalizers,
      annotations: Object.fromEntries(keyed) as object,
      ...(deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: {
      type: 'LoadBalancer',
      clusterIP: isSix ? 'fd00::1' : '10.96.0.1',
      selector: { app: 'web' },
      ports: ports.map(portOf),
      ...(kind === undefined || spec['type'] !== undefined ? {} : { loadBalancerClass: classOf[kind] }),
      ...spec,
    },
  });
  return problems.length > 0 ? undefined : (object as Service | undefined);
}

/** The state of the account and of the cluster in which a case takes place. */
export function circumstancesOf(given: Given, { metadata: { namespace, name }, ipFamilies, ports }: Service): Circumstances {
  const { subnets = 1, vpc = ['192.168.0.0/16', '2600:1f13:837:8500::/56'], securityGroups = {}, existing, nodes = ['node-0 i-0'] } = given;
  const pods = given.pods ?? [ipFamilies[0] === 6 ? '2600:1f13:837:8500::10' : '192.168.0.10'];
  const slicePorts = ports.flatMap(({ name, protocol, targetPort }) =>
    typeof targetPort === 'number' ? [{ name, protocol, port: targetPort }] : [],
  );
  return {
    facts: {
      vpcCidrs: vpc,
      subnets: (typeof subnets === 'number' ? standardSubnets(subnets) : subnets).map(subnetOf),
      securityGroups: Object.entries(securityGroups).map(([id, name]) => ({ id, tags: { Name: name } })),
      certificates: [],
    },
    settings: settingsOf(given),
    existing: existing === undefined ? {} : { [existing.kind ?? 'nlb']: existing },
    nodes: nodes.map(nodeOf),
    slices: () => (pods.length === 0 ? [] : [{ ...slice({ service: `${namespace}/${name}`, endpoints: pods }), ports: slicePorts }]),
    refusedTargets: () => [],
  };
}

/** Services without a class are Herald's if they have a type that Herald knows. */
export const settingsOf = (given: Given): AwsSettings => ({ ...settings, classless: 'legacy', ...given.settings });

const standardSubnets = (count: number): string[] =>
  Array.from(
    { length: count },
    (_, index) => `subnet-${index + 1} us-west-2${'abc'.charAt(index)} 192.168.${32 * index}.0/19 2600:1f13:837:850${index}::/64`,
  );

function subnetOf(text: string): SubnetFact {
  const [id = '', zone = '', ...words] = text.split(' ');
  const cidrs = words.filter((word) => word.includes('/') && !word.startsWith('tag:'));
  const six = cidrs.find((cidr) => cidr.includes(':'));
  const free = words.find((word) => word.startsWith('free='));
  const tags = words.filter((word) => word.startsWith('tag:')).map((word) => word.slice('tag:'.length).split('='));
  const role = words.includes('untagged') ? {} : { 'kubernetes.io/role/elb': '1', 'kubernetes.io/role/internal-elb': '1' };
  return {
    id,
    zone,
    cidr: cidrs.find((cidr) => !cidr.includes(':')) ?? '192.168.0.0/19',
    ...defined({ ipv6Cidr: six }),
    availableAddresses: free === undefined ? 200 : Number(free.slice('free='.length)),
    tags: { ...role, ...(Object.fromEntries(tags.map(([key, value = '']) => [key, value])) as Record<string, string>) },
    public: words.includes('public'),
  };
}

export function nodeOf(text: string): Node {
  const [name = '', instance = '', ...words] = text.split(' ');
  const labels = words.filter((word) => word.startsWith('label:')).map((word) => word.slice('label:'.length).split('='));
  return {
    kind: 'Node',
    metadata: metadata(name, '', Object.fromEntries(labels.map(([key, value = '']) => [key, value])) as Record<string, string>),
    internalIPs: [],
    podCIDRs: [],
    networkUnavailable: false,
    ready: !words.includes('notready'),
    toBeDeleted: words.includes('leaving'),
    ...(instance === '' ? {} : { providerID: instance.startsWith('aws:') ? instance : `aws:///us-west-2a/${instance}` }),
  };
}
