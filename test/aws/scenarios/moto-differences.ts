import type { Cloud } from '../../../providers/aws/cloud.ts';
import type { ClassicListener, ClassicProtocol, ElbOperations } from '../../../providers/aws/cloud/elb.ts';
import type { Input, Operation, Output } from '../../../providers/aws/cloud/operations.ts';

/** What the scenarios found where moto is not AWS. Each is seen to be there still: one that moto has mended fails its test. */
export interface Difference {
  readonly scenario: string;
  readonly versions: readonly string[];
  readonly what: string;
  /** By what it shows. */
  readonly shows: RegExp;
}

export const differences: readonly Difference[] = [
  {
    scenario: 'another certificate on an NLB, without its listener being made anew',
    versions: ['5.1.1', '5.2.5'],
    what: 'ModifyListener without a protocol ignores certificates, so that the provider sees the old one again and again',
    shows: /its certificate|no end after/,
  },
  {
    scenario: 'a port that begins to have a certificate',
    versions: ['5.1.1', '5.2.5'],
    what: 'ModifyListener takes no protocol but HTTP, HTTPS and TCP',
    shows: /no end after/,
  },
  {
    scenario: 'two certificates: the first is the default, the second is added, and goes when it is no longer wanted',
    versions: ['5.1.1'],
    what: 'DescribeListenerCertificates does not say which one is the default',
    shows: /to deeply equal/,
  },
  {
    scenario: 'source ranges are the rules of its security group, and change with them',
    versions: ['5.1.1'],
    what: 'RevokeSecurityGroupIngress of a source that other ports have as well says that it is done, and is not',
    shows: /no end after/,
  },
];

/**
 * moto forgets the protocol between a Classic ELB and its instances, and shows that of the listener in its place, in both versions. As
 * most of what there is to say about Classic ELBs is in that protocol, it is put back into the answers here.
 */
export function corrected(cloud: Cloud): Cloud {
  const protocols = new Map<string, ClassicProtocol>();
  const note = (name: string, listeners: readonly ClassicListener[]): void => {
    for (const { LoadBalancerPort, InstanceProtocol } of listeners) protocols.set(`${name} ${LoadBalancerPort}`, InstanceProtocol);
  };
  return {
    async call<O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> {
      if (operation === 'elb:CreateLoadBalancer' || operation === 'elb:CreateLoadBalancerListeners') {
        const { LoadBalancerName, Listeners } = input as ElbOperations['CreateLoadBalancerListeners']['input'];
        note(LoadBalancerName, Listeners);
      }
      const output = await cloud.call(operation, input);
      if (operation !== 'elb:DescribeLoadBalancers') return output;
      const { LoadBalancerDescriptions } = output as ElbOperations['DescribeLoadBalancers']['output'];
      const put: ElbOperations['DescribeLoadBalancers']['output'] = {
        LoadBalancerDescriptions: LoadBalancerDescriptions.map((one) => ({
          ...one,
          ListenerDescriptions: one.ListenerDescriptions.map(({ Listener, PolicyNames }) => {
            const InstanceProtocol = protocols.get(`${one.LoadBalancerName} ${Listener.LoadBalancerPort}`) ?? Listener.InstanceProtocol;
            return { Listener: { ...Listener, InstanceProtocol }, PolicyNames };
          }),
        })),
      };
      return put;
    },
  };
}
