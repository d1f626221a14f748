import { vpcId as ownVpc, type World } from './world.ts';

/** Adds an Application Load Balancer that somebody else made, with listeners. Returns its ARN. */
export function addAlb(
  world: World,
  name: string,
  listeners: Readonly<Record<number, 'HTTP' | 'HTTPS'>>,
  { vpcId = ownVpc, type = 'application' as const }: { readonly vpcId?: string; readonly type?: 'application' | 'network' } = {},
): string {
  const LoadBalancerArn = world.arn('loadbalancer/app', name);
  world.loadBalancers.set(LoadBalancerArn, {
    value: {
      LoadBalancerArn,
      LoadBalancerName: name,
      DNSName: `${name}.elb.amazonaws.com`,
      Type: type,
      Scheme: 'internal',
      VpcId: vpcId,
      State: { Code: 'active' },
      IpAddressType: 'ipv4',
      AvailabilityZones: [],
      SecurityGroups: [],
    },
    input: '',
    createdAt: world.now(),
    zonesSince: new Map(),
    attributes: new Map(),
    capacity: { units: 0, since: -Infinity },
  });
  for (const [port, protocol] of Object.entries(listeners)) addAlbListener(world, LoadBalancerArn, Number(port), protocol);
  return LoadBalancerArn;
}

export function addAlbListener(world: World, LoadBalancerArn: string, Port: number, protocol: 'HTTP' | 'HTTPS'): void {
  const ListenerArn = world.arn('listener/app', `${Port}`);
  const value = { ListenerArn, LoadBalancerArn, Port, Protocol: protocol as never, DefaultActions: [] };
  world.listeners.set(ListenerArn, { value, attributes: new Map(), extraCertificates: new Set() });
}
