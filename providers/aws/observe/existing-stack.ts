import { defined } from '../../../src/lang/defined.ts';
import { mappingOf } from '../model/addresses.ts';
import type { Existing, ExistingStack } from '../model/facts.ts';
import type { Observed, ObservedLoadBalancer } from '../model/observed.ts';
import { ownObserved } from '../model/own-resources.ts';
import { tagKeys } from '../model/tags.ts';

/** Returns the properties of existing load balancers that influence the desired state. A load balancer that is not retired is preferred. */
export function existingStack(observed: Observed, cluster: string, stack: string, adopt: string | undefined): ExistingStack {
  const own = ownObserved(observed, cluster, stack);
  const nlbs = own.loadBalancers.filter(({ tags }) => tags[tagKeys.adopted] === undefined).toSorted((a, b) => retired(a) - retired(b));
  const [nlb] = nlbs;
  const [classic] = own.classic.toSorted((a, b) => retired(a) - retired(b));
  const adopted = observed.loadBalancers.find(
    ({ loadBalancer }) =>
      loadBalancer.Type === 'network' && (loadBalancer.LoadBalancerArn === adopt || loadBalancer.LoadBalancerName === adopt),
  );
  return {
    ...(nlb === undefined ? {} : { nlb: existing(nlb), nlbs: nlbs.map(existing) }),
    ...(classic === undefined
      ? {}
      : {
          classic: {
            name: classic.loadBalancer.LoadBalancerName,
            scheme: classic.loadBalancer.Scheme,
            subnets: classic.loadBalancer.Subnets.map((SubnetId) => ({ SubnetId })),
            ipAddressType: 'ipv4',
            hasSecurityGroups: classic.loadBalancer.SecurityGroups.length > 0,
          },
        }),
    ...(adopted === undefined || adopt === undefined
      ? {}
      : { adopted: { ...existing(adopted), arn: adopted.loadBalancer.LoadBalancerArn } }),
  };
}

function retired({ tags }: { readonly tags: Readonly<Record<string, string>> }): number {
  return tags[tagKeys.retired] === undefined ? 0 : 1;
}

function existing({ loadBalancer, tags }: ObservedLoadBalancer): Existing {
  return {
    ...defined({ recordedSubnets: tags[tagKeys.subnets] }),
    name: loadBalancer.LoadBalancerName,
    arn: loadBalancer.LoadBalancerArn,
    scheme: loadBalancer.Scheme,
    subnets: loadBalancer.AvailabilityZones.map(mappingOf),
    ipAddressType: loadBalancer.IpAddressType === 'ipv4' ? 'ipv4' : 'dualstack',
    hasSecurityGroups: (loadBalancer.SecurityGroups ?? []).length > 0,
  };
}
