import { AwsError, type AwsErrorCode } from '../../../cloud/error.ts';
import type { Certificate } from '../../../cloud/acm.ts';
import type { ClassicAttributes, ClassicLoadBalancer, PolicyDescription } from '../../../cloud/elb.ts';
import type { EndpointConnection, EndpointService } from '../../../cloud/endpoint-services.ts';
import type { Instance, IpPermission, NetworkInterface, RouteTable, SecurityGroup, Subnet, Vpc } from '../../../cloud/ec2.ts';
import type { Listener, LoadBalancer, TargetDescription, TargetGroup } from '../../../cloud/elbv2.ts';
import type { Operation } from '../../../cloud/operations.ts';
import { parseAddress } from '../../../../../src/net/address.ts';
import { parsePrefix, prefixContains } from '../../../../../src/net/prefix.ts';
import { VirtualClock } from '../../../../../src/system/virtual-clock.ts';

export type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export interface FakeLoadBalancer {
  readonly value: Mutable<LoadBalancer>;
  readonly input: string;
  readonly createdAt: number;
  /** By zone that was added after creation: the time of the addition. */
  readonly zonesSince: Map<string, number>;
  readonly attributes: Map<string, string>;
  /** Reserved capacity, and since when. */
  capacity: { readonly units: number; readonly since: number };
}

export interface FakeListener {
  readonly value: Mutable<Listener>;
  readonly attributes: Map<string, string>;
  readonly extraCertificates: Set<string>;
}

export interface FakeTarget {
  readonly target: TargetDescription;
  /** The time of the first health check while the group is attached. Undefined: not checked. */
  checkedSince: number | undefined;
  drainingSince: number | undefined;
}

export interface FakeTargetGroup {
  readonly value: Mutable<TargetGroup>;
  readonly input: string;
  readonly attributes: Map<string, string>;
  readonly targets: Map<string, FakeTarget>;
}

export interface FakeClassic {
  readonly value: Mutable<ClassicLoadBalancer>;
  readonly input: string;
  readonly policies: Map<string, PolicyDescription>;
  attributes: ClassicAttributes;
  readonly registeredAt: Map<string, number>;
}

export interface FakeEndpointService {
  readonly value: Mutable<EndpointService>;
  readonly principals: Set<string>;
  /** The endpoints of clients. */
  readonly connections: EndpointConnection[];
}

/** The seconds that AWS takes, or fewer, but enough to require waiting. */
export const delays = { provisioning: 120, healthCheck: 30, draining: 60, interfaces: 45, capacity: 40 } as const;

export const vpcId = 'vpc-1';
export const region = 'us-east-1';
const account = '123456789012';

/** The complete state of the fake. Tests may read and change all of it. */
export class World {
  readonly clock = new VirtualClock();
  readonly loadBalancers = new Map<string, FakeLoadBalancer>();
  readonly listeners = new Map<string, FakeListener>();
  readonly targetGroups = new Map<string, FakeTargetGroup>();
  readonly classic = new Map<string, FakeClassic>();
  readonly securityGroups = new Map<string, Mutable<SecurityGroup>>();
  readonly endpointServices = new Map<string, FakeEndpointService>();
  /** By ARN or id, and by "classic/NAME". */
  readonly tags = new Map<string, Map<string, string>>();
  readonly vpcs = new Map<string, Vpc>();
  readonly subnets = new Map<string, Subnet>();
  readonly routeTables: RouteTable[] = [];
  readonly instances = new Map<string, Instance>();
  readonly allocations = new Set<string>();
  /** By Elastic IP: the network interface that has it, except those of load balancers. */
  readonly associated = new Map<string, string>();
  readonly certificates = new Map<string, Certificate>();
  /** Instances that the type of a load balancer does not support. */
  readonly unsupported = new Set<string>();
  /** Instances and addresses whose health checks fail. */
  readonly unhealthy = new Set<string>();
  /** Network interfaces of pods, or of nodes that carry pod addresses. */
  readonly podInterfaces: NetworkInterface[] = [];
  /** Network interfaces that AWS removes some time after their load balancer. */
  readonly interfaces: { readonly groups: readonly string[]; readonly until: number }[] = [];
  /** Creation times, by which new resources are hidden for a while. */
  readonly createdAt = new Map<string, number>();
  /** How long AWS hides a new resource. `tagDelaySeconds` is the same for its tags. */
  describeDelaySeconds = 0;
  tagDelaySeconds = 0;
  /** How long AWS works on a new load balancer before it is active. */
  provisioningSeconds: number = delays.provisioning;
  /** The most capacity that the fake has to reserve in each zone. */
  capacityUnits = 10_000;
  readonly quotas = { loadBalancers: 50, classic: 20, rules: 60, targets: 1000, targetsPerZone: 500 };
  /** Zones by address. */
  readonly #zones = new Map<string, string | undefined>();
  #sequence = 0;

  now(): number {
    return this.clock.now() / 1000;
  }

  id(prefix: string): string {
    return `${prefix}${(++this.#sequence).toString(16).padStart(8, '0')}`;
  }

  arn(kind: string, name: string): string {
    return `arn:aws:elasticloadbalancing:${region}:${account}:${kind}/${name}/${this.id('')}`;
  }

  /** True if AWS already shows the resource. */
  isVisible(id: string): boolean {
    return this.now() - (this.createdAt.get(id) ?? -Infinity) >= this.describeDelaySeconds;
  }

  tagsOf(id: string): { Key: string; Value: string }[] {
    return [...(this.shownTags(id) ?? [])].map(([Key, Value]) => ({ Key, Value }));
  }

  /** The tags that AWS shows already, by key. */
  shownTags(id: string): ReadonlyMap<string, string> | undefined {
    return this.now() - (this.createdAt.get(id) ?? -Infinity) < this.tagDelaySeconds ? undefined : this.tags.get(id);
  }

  setTags(id: string, tags: readonly { readonly Key: string; readonly Value: string }[]): void {
    const map = this.tags.get(id) ?? new Map<string, string>();
    for (const { Key, Value } of tags) map.set(Key, Value);
    this.tags.set(id, map);
  }

  recordCreated(id: string, tags: readonly { readonly Key: string; readonly Value: string }[]): void {
    this.createdAt.set(id, this.now());
    this.setTags(id, tags);
  }

  /** Returns the zone of a target. Undefined: outside of the VPC, or in no subnet of the fake. */
  zoneOf({ Id }: TargetDescription): string | undefined {
    const instance = this.instances.get(Id);
    if (instance !== undefined) return instance.Placement.AvailabilityZone;
    if (!this.#zones.has(Id)) this.#zones.set(Id, this.#zoneOfAddress(Id));
    return this.#zones.get(Id);
  }

  #zoneOfAddress(text: string): string | undefined {
    const own = parseAddress(text);
    const subnet = [...this.subnets.values()].find(({ CidrBlock, Ipv6CidrBlockAssociationSet }) =>
      [CidrBlock, ...Ipv6CidrBlockAssociationSet.map((one) => one.Ipv6CidrBlock)].some((cidr) => {
        const prefix = parsePrefix(cidr);
        return own.ok && prefix.ok && prefixContains(prefix.value, own.value);
      }),
    );
    return subnet?.AvailabilityZone;
  }

  groupInUse(groupId: string): boolean {
    const now = this.now();
    return (
      [...this.loadBalancers.values()].some(({ value }) => value.SecurityGroups?.includes(groupId)) ||
      [...this.classic.values()].some(({ value }) => value.SecurityGroups.includes(groupId)) ||
      [...this.instances.values()].some(({ SecurityGroups }) => SecurityGroups.some(({ GroupId }) => GroupId === groupId)) ||
      this.interfaces.some(({ groups, until }) => groups.includes(groupId) && now < until) ||
      [...this.securityGroups.values()].some(({ IpPermissions }) => IpPermissions.some((one) => refersTo(one, groupId)))
    );
  }
}

function refersTo({ UserIdGroupPairs = [] }: IpPermission, groupId: string): boolean {
  return UserIdGroupPairs.some(({ GroupId }) => GroupId === groupId);
}

let requests = 0;

/** The key of a Classic ELB in `tags`: it has no ARN. */
export const tagKey = (name: string): string => `classic/${name}`;

export function refuse(operation: Operation, code: AwsErrorCode, awsCode: string, message = awsCode): never {
  throw new AwsError({ code, operation, awsCode, message, requestId: `request-${++requests}` });
}

/** Adds the resources that every test needs: a VPC with public and private subnets in three zones, instances and certificates. */
export function populate(world: World, clusterName = 'test'): void {
  world.vpcs.set(vpcId, {
    VpcId: vpcId,
    CidrBlockAssociationSet: [{ CidrBlock: '10.0.0.0/16' }],
    Ipv6CidrBlockAssociationSet: [{ Ipv6CidrBlock: '2001:db8::/56' }],
  });
  const nodeGroup = 'sg-00000aaa';
  world.securityGroups.set(nodeGroup, {
    GroupId: nodeGroup,
    GroupName: 'nodes',
    Description: 'nodes',
    VpcId: vpcId,
    IpPermissions: [],
    Tags: [],
  });
  world.setTags(nodeGroup, [
    { Key: `kubernetes.io/cluster/${clusterName}`, Value: 'owned' },
    { Key: 'Name', Value: 'nodes' },
  ]);
  for (const [index, zone] of ['us-east-1a', 'us-east-1b', 'us-east-1c'].entries()) {
    for (const [kind, role, offset] of [
      ['public', 'kubernetes.io/role/elb', 0],
      ['private', 'kubernetes.io/role/internal-elb', 100],
    ] as const) {
      const id = `subnet-${kind}-${index}`;
      world.subnets.set(id, {
        SubnetId: id,
        VpcId: vpcId,
        AvailabilityZone: zone,
        CidrBlock: `10.0.${offset + index}.0/24`,
        Ipv6CidrBlockAssociationSet: [{ Ipv6CidrBlock: `2001:db8:0:${offset + index}::/64` }],
        AvailableIpAddressCount: 200,
        Tags: [
          { Key: role, Value: '1' },
          { Key: 'Name', Value: `${kind}-${zone}` },
        ],
      });
    }
    const instance = `i-0000000${index}`;
    world.instances.set(instance, {
      InstanceId: instance,
      VpcId: vpcId,
      State: { Name: 'running' },
      Placement: { AvailabilityZone: zone },
      SecurityGroups: [{ GroupId: nodeGroup }],
    });
  }
  world.routeTables.push(
    { RouteTableId: 'rtb-main', VpcId: vpcId, Associations: [{ Main: true }], Routes: [{ GatewayId: 'local' }] },
    {
      RouteTableId: 'rtb-public',
      VpcId: vpcId,
      Associations: [0, 1, 2].map((index) => ({ Main: false, SubnetId: `subnet-public-${index}` })),
      Routes: [{ GatewayId: 'local' }, { GatewayId: 'igw-1', DestinationCidrBlock: '0.0.0.0/0' }],
    },
  );
  for (const number of [1, 2, 3]) world.allocations.add(`eipalloc-${number}`);
  for (const [name, domain] of [
    ['12345678-1234-1234-1234-123456789012', 'www.example.com'],
    ['22222222-2222-2222-2222-222222222222', '*.example.org'],
  ] as const) {
    const CertificateArn = `arn:aws:acm:us-east-1:${account}:certificate/${name}`;
    world.certificates.set(CertificateArn, {
      CertificateArn,
      DomainName: domain,
      SubjectAlternativeNames: [domain],
      Status: 'ISSUED',
      KeyAlgorithm: 'RSA_2048',
    });
  }
}
