import {
  AddTagsCommand,
  ApplySecurityGroupsToLoadBalancerCommand,
  AttachLoadBalancerToSubnetsCommand,
  ConfigureHealthCheckCommand,
  CreateLoadBalancerCommand,
  CreateLoadBalancerListenersCommand,
  CreateLoadBalancerPolicyCommand,
  DeleteLoadBalancerCommand,
  DeleteLoadBalancerListenersCommand,
  DeregisterInstancesFromLoadBalancerCommand,
  DescribeInstanceHealthCommand,
  DescribeLoadBalancerAttributesCommand,
  DescribeLoadBalancerPoliciesCommand,
  DescribeLoadBalancersCommand,
  DescribeTagsCommand,
  DetachLoadBalancerFromSubnetsCommand,
  ModifyLoadBalancerAttributesCommand,
  RegisterInstancesWithLoadBalancerCommand,
  RemoveTagsCommand,
  SetLoadBalancerListenerSSLCertificateCommand,
  SetLoadBalancerPoliciesForBackendServerCommand,
  SetLoadBalancerPoliciesOfListenerCommand,
} from '@aws-sdk/client-elastic-load-balancing';
import { defined } from '../../../src/lang/defined.ts';
import { changeable, list, required } from './answers/answer.ts';
import { toClassicAttributes, toClassicLoadBalancer, toInstanceState, toPolicy } from './answers/elb.ts';
import { toTags } from './answers/elbv2.ts';
import { limits } from './limits.ts';
import { allPages, inBatches, type OperationsOf } from './send.ts';

const { pageItems: PageSize, resourcesPerDescribe } = limits;

/** The operations of the Classic Load Balancer, by the SDK. */
export const elb: OperationsOf<'elb'> = {
  DescribeLoadBalancers: async ({ LoadBalancerNames }, send) => {
    const read = (input: { LoadBalancerNames?: string[]; PageSize?: number }) =>
      allPages(async (Marker) => {
        const answer = await send(new DescribeLoadBalancersCommand({ ...input, ...defined({ Marker }) }));
        return { items: answer.LoadBalancerDescriptions, next: answer.NextMarker };
      });
    const all =
      LoadBalancerNames === undefined
        ? await read({ PageSize })
        : await inBatches(LoadBalancerNames, resourcesPerDescribe, (batch) => read({ LoadBalancerNames: [...batch] }));
    return { LoadBalancerDescriptions: all.map(toClassicLoadBalancer) };
  },

  DescribeLoadBalancerAttributes: async (input, send) => ({
    LoadBalancerAttributes: toClassicAttributes((await send(new DescribeLoadBalancerAttributesCommand(input))).LoadBalancerAttributes),
  }),

  DescribeLoadBalancerPolicies: async (input, send) => ({
    PolicyDescriptions: list((await send(new DescribeLoadBalancerPoliciesCommand(input))).PolicyDescriptions).map(toPolicy),
  }),

  DescribeInstanceHealth: async (input, send) => ({
    InstanceStates: list((await send(new DescribeInstanceHealthCommand(input))).InstanceStates).map(toInstanceState),
  }),

  DescribeTags: async ({ LoadBalancerNames }, send) => {
    const all = await inBatches(LoadBalancerNames, resourcesPerDescribe, async (batch) =>
      list((await send(new DescribeTagsCommand({ LoadBalancerNames: [...batch] }))).TagDescriptions),
    );
    return {
      TagDescriptions: all.map(({ LoadBalancerName, Tags }) => ({
        LoadBalancerName: required(LoadBalancerName, 'LoadBalancerName'),
        Tags: toTags(Tags),
      })),
    };
  },

  CreateLoadBalancer: async (input, send) => ({
    DNSName: required((await send(new CreateLoadBalancerCommand(changeable(input)))).DNSName, 'DNSName'),
  }),

  DeleteLoadBalancer: (input, send) => send(new DeleteLoadBalancerCommand(input)),
  CreateLoadBalancerListeners: (input, send) => send(new CreateLoadBalancerListenersCommand(changeable(input))),
  DeleteLoadBalancerListeners: (input, send) => send(new DeleteLoadBalancerListenersCommand(changeable(input))),
  SetLoadBalancerListenerSSLCertificate: (input, send) => send(new SetLoadBalancerListenerSSLCertificateCommand(input)),
  CreateLoadBalancerPolicy: (input, send) => send(new CreateLoadBalancerPolicyCommand(changeable(input))),
  SetLoadBalancerPoliciesOfListener: (input, send) => send(new SetLoadBalancerPoliciesOfListenerCommand(changeable(input))),
  SetLoadBalancerPoliciesForBackendServer: (input, send) => send(new SetLoadBalancerPoliciesForBackendServerCommand(changeable(input))),
  ConfigureHealthCheck: (input, send) => send(new ConfigureHealthCheckCommand(input)),
  ModifyLoadBalancerAttributes: (input, send) => send(new ModifyLoadBalancerAttributesCommand(input)),
  AttachLoadBalancerToSubnets: (input, send) => send(new AttachLoadBalancerToSubnetsCommand(changeable(input))),
  DetachLoadBalancerFromSubnets: (input, send) => send(new DetachLoadBalancerFromSubnetsCommand(changeable(input))),
  ApplySecurityGroupsToLoadBalancer: (input, send) => send(new ApplySecurityGroupsToLoadBalancerCommand(changeable(input))),
  RegisterInstancesWithLoadBalancer: (input, send) => send(new RegisterInstancesWithLoadBalancerCommand(changeable(input))),
  DeregisterInstancesFromLoadBalancer: (input, send) => send(new DeregisterInstancesFromLoadBalancerCommand(changeable(input))),
  AddTags: (input, send) => send(new AddTagsCommand(changeable(input))),
  RemoveTags: (input, send) => send(new RemoveTagsCommand(changeable(input))),
};
