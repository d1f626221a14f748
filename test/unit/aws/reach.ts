import { delays, type FakeClassic, type FakeLoadBalancer, type World } from '../../aws/fake/world.ts';
import { health } from '../../aws/fake/target-groups.ts';
import type { IpPermission } from '../../../providers/aws/cloud/ec2.ts';
import { parsePrefix, prefixContains } from '../../../src/net/prefix.ts';
import { address } from '../../../src/net/address.ts';

/** A packet of a client, from its address to a port. */
export interface Packet {
  readonly from: string;
  readonly protocol: 'TCP' | 'UDP';
  readonly port: number;
}

/**
 * By the name of a load balancer, why AWS would not bring the packet to a target; undefined: it does, by the address of some zone, as AWS takes the address
 * of a zone without healthy targets out of DNS. `zone`: by the address of this one alone, as a client has it that has looked it up before.
 */
export function whyUnreached(world: World, hostname: string, packet: Packet, zone?: string): string | undefined {
  const nlb = nlbOf(world, hostname);
  if (nlb !== undefined) {
    const all = zonesOf(world, hostname).filter((one) => zone === undefined || one === zone);
    if (all.length === 0) return zone === undefined ? 'in no zone' : `not in ${zone}`;
    const reasons = all.map((one) => whyNotByNlb(world, nlb, one, packet));
    return reasons.includes(undefined) ? undefined : reasons[0];
  }
  const classic = [...world.classic.values()].find(({ value }) => value.DNSName.toLowerCase() === hostname);
  return classic === undefined ? `${hostname} is gone` : whyNotByClassic(world, classic, packet);
}

/** The zones in which a load balancer has an address; none of a Classic ELB, whose clients are not told apart. */
export function zonesOf(world: World, hostname: string): string[] {
  return nlbOf(world, hostname)?.value.AvailabilityZones.map(({ ZoneName }) => ZoneName) ?? [];
}

function nlbOf(world: World, hostname: string): FakeLoadBalancer | undefined {
  return [...world.loadBalancers.values()].find(({ value }) => value.DNSName.toLowerCase() === hostname);
}

function whyNotByNlb(
  world: World,
  { value, madeAt, zonesSince, attributes }: FakeLoadBalancer,
  zone: string,
  packet: Packet,
): string | undefined {
  const { LoadBalancerArn, SecurityGroups: groups = [] } = value;
  if (world.now() - madeAt < delays.provisioning) return 'not active';
  if (world.now() - (zonesSince.get(zone) ?? madeAt) < delays.healthCheck) return `${zone} is new`;
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
  const near = [...group.targets.values()].filter(
    ({ target }) => crosses || target.AvailabilityZone === 'all' || world.zoneOf(target) === zone,
  );
  const healthy = near.filter((target) => health(world, group, target).State === 'healthy');
  if (healthy.length === 0) return `no healthy target for ${zone} among ${near.map((one) => health(world, group, one).State).join(', ')}`;
  const reached = healthy.filter(({ target }) =>
    groupsOfTarget(world, target.Id).some(
      (id) => groups.length === 0 || groups.some((front) => admits(world, id, packet.protocol, target.Port, front)),
    ),
  );
  return reached.length === 0 ? 'not admitted by any healthy target' : undefined;
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

/** `source`: an address, or a security group. */
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
