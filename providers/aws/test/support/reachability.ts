import { delays, type FakeClassic, type FakeLoadBalancer, type World } from '../moto/fake/world.ts';
import { health } from '../moto/fake/target-groups.ts';
import type { IpPermission } from '../../../../providers/aws/cloud/ec2.ts';
import { parsePrefix, prefixContains } from '../../../../src/net/prefix.ts';
import { address } from '../../../../src/net/address.ts';

/** A packet from a client's address to a port. */
export interface Packet {
  readonly from: string;
  readonly protocol: 'TCP' | 'UDP';
  readonly port: number;
}

/**
 * Returns why AWS would not deliver the packet to a target when the client looks up the name. Undefined when it would, by the address of
 * any zone: AWS takes the address of a zone without healthy targets out of DNS.
 */
export function unreachableReason(world: World, hostname: string, packet: Packet): string | undefined {
  const nlb = nlbOf(world, hostname);
  if (nlb !== undefined) {
    const reasons = [...unreachableReasonByZone(world, hostname, packet).values()];
    return reasons.length === 0 ? 'in no zone' : reasons.includes(undefined) ? undefined : reasons[0];
  }
  const classic = [...world.classic.values()].find(({ value }) => value.DNSName.toLowerCase() === hostname);
  return classic === undefined ? `${hostname} is gone` : whyNotByClassic(world, classic, packet);
}

/**
 * Returns the same for a client that has cached the address of one zone of an NLB. The addresses of a Classic ELB are not distinguished.
 */
export function unreachableReasonByZone(world: World, hostname: string, packet: Packet): ReadonlyMap<string, string | undefined> {
  const nlb = nlbOf(world, hostname);
  if (nlb === undefined) return new Map();
  const targets = targetsOf(world, nlb, packet);
  return new Map(
    nlb.value.AvailabilityZones.map(({ ZoneName }) => [
      ZoneName,
      typeof targets === 'string' ? targets : whyNotInZone(world, nlb, ZoneName, targets),
    ]),
  );
}

function nlbOf(world: World, hostname: string): FakeLoadBalancer | undefined {
  return [...world.loadBalancers.values()].find(({ value }) => value.DNSName.toLowerCase() === hostname);
}

/** Returns the targets of a port with their states, and whether the load balancer reaches them. Otherwise why there is none. */
function targetsOf(world: World, { value, createdAt: madeAt, attributes }: FakeLoadBalancer, packet: Packet): string | Targets {
  const { LoadBalancerArn, SecurityGroups: groups = [] } = value;
  if (world.now() - madeAt < delays.provisioning) return 'not active';
  if (groups.length > 0 && !groups.some((id) => admits(world, id, packet.protocol, packet.port, packet.from)))
    return 'not admitted by the load balancer';
  const listener = [...world.listeners.values()].find(
    (one) => one.value.LoadBalancerArn === LoadBalancerArn && one.value.Port === packet.port,
  );
  if (listener === undefined) return 'no listener';
  const carried = listener.value.Protocol === 'TCP_UDP' ? ['TCP', 'UDP'] : [listener.value.Protocol === 'UDP' ? 'UDP' : 'TCP'];
  if (!carried.includes(packet.protocol)) return `listens for ${listener.value.Protocol}`;
  const group = world.targetGroups.get(listener.value.DefaultActions[0]?.TargetGroupArn ?? '');
  if (group === undefined) return 'no target group';
  const crossZone = 'load_balancing.cross_zone.enabled';
  const ofGroup = group.attributes.get(crossZone);
  const crosses = (ofGroup === 'use_load_balancer_configuration' ? attributes.get(crossZone) : ofGroup) === 'true';
  const isReached = (Id: string, port: number): boolean =>
    groupsOfTarget(world, Id).some((id) => groups.length === 0 || groups.some((front) => admits(world, id, packet.protocol, port, front)));
  const all = [...group.targets.values()].map((one) => ({
    zone: crosses || one.target.AvailabilityZone === 'all' ? undefined : world.zoneOf(one.target),
    state: health(world, group, one).State,
    isReached: isReached(one.target.Id, one.target.Port),
  }));
  return { all };
}

interface Targets {
  /** Zone undefined: reached from all zones. */
  readonly all: readonly { readonly zone: string | undefined; readonly state: string; readonly isReached: boolean }[];
}

function whyNotInZone(
  world: World,
  { createdAt: madeAt, zonesSince }: FakeLoadBalancer,
  zone: string,
  { all }: Targets,
): string | undefined {
  if (world.now() - (zonesSince.get(zone) ?? madeAt) < delays.healthCheck) return `${zone} is new`;
  const near = all.filter((target) => target.zone === undefined || target.zone === zone);
  const healthy = near.filter(({ state }) => state === 'healthy');
  if (healthy.length === 0) return `no healthy target for ${zone} among ${near.map(({ state }) => state).join(', ')}`;
  return healthy.some((target) => target.isReached) ? undefined : 'not admitted by any healthy target';
}

function whyNotByClassic(world: World, { value, registeredAt }: FakeClassic, packet: Packet): string | undefined {
  if (packet.protocol !== 'TCP') return 'no UDP';
  if (!value.SecurityGroups.some((id) => admits(world, id, 'TCP', packet.port, packet.from))) return 'not admitted by the load balancer';
  const listener = value.ListenerDescriptions.find(({ Listener }) => Listener.LoadBalancerPort === packet.port)?.Listener;
  if (listener === undefined) return 'no listener';
  const inService = value.Instances.filter(({ InstanceId }) => world.now() - (registeredAt.get(InstanceId) ?? 0) >= delays.healthCheck);
  if (inService.length === 0) return 'no instance in service';
  const isReached = inService.some(({ InstanceId }) =>
    groupsOfTarget(world, InstanceId).some((id) =>
      value.SecurityGroups.some((front) => admits(world, id, 'TCP', listener.InstancePort, front)),
    ),
  );
  return isReached ? undefined : 'not admitted by any instance in service';
}

function groupsOfTarget(world: World, id: string): string[] {
  const own = world.podInterfaces.find(({ PrivateIpAddresses }) => PrivateIpAddresses.some((one) => one.PrivateIpAddress === id))?.Groups;
  return (own ?? world.instances.get(id)?.SecurityGroups ?? []).map(({ GroupId }) => GroupId);
}

/** `source`: an address or a security group. */
function admits(world: World, group: string, protocol: string, port: number, source: string): boolean {
  const fits = ({ IpProtocol, FromPort = 0, ToPort = 65_535 }: IpPermission): boolean =>
    IpProtocol === '-1' || (IpProtocol === protocol.toLowerCase() && FromPort <= port && port <= ToPort);
  const names = ({ IpRanges = [], UserIdGroupPairs = [] }: IpPermission): boolean =>
    source.startsWith('sg-')
      ? UserIdGroupPairs.some(({ GroupId }) => GroupId === source)
      : IpRanges.some(({ CidrIp }) => {
          const prefix = parsePrefix(CidrIp);
          return prefix.ok && prefixContains(prefix.value, address(source));
        });
  return (world.securityGroups.get(group)?.IpPermissions ?? []).some((one) => fits(one) && names(one));
}
