import * as Sdk from '@aws-sdk/client-elastic-load-balancing';
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
      allPages('LoadBalancerDescriptions', (Marker) => send(new Sdk.DescribeLoadBalancersCommand({ ...input, ...defined({ Marker }) })));
    const all =
      LoadBalancerNames === undefined
        ? await read({ PageSize })
        : await inBatches(LoadBalancerNames, resourcesPerDescribe, (batch) => read({ LoadBalancerNames: [...batch] }));
    return { LoadBalancerDescriptions: all.map(toClassicLoadBalancer) };
  },

  DescribeLoadBalancerAttributes: async (input, send) => ({
    LoadBalancerAttributes: toClassicAttributes((await send(new Sdk.DescribeLoadBalancerAttributesCommand(input))).LoadBalancerAttributes),
  }),

  DescribeLoadBalancerPolicies: async (input, send) => ({
    PolicyDescriptions: list((await send(new Sdk.DescribeLoadBalancerPoliciesCommand(input))).PolicyDescriptions).map(toPolicy),
  }),

  DescribeInstanceHealth: async (input, send) => ({
    InstanceStates: list((await send(new Sdk.DescribeInstanceHealthCommand(input))).InstanceStates).map(toInstanceState),
  }),

  DescribeTags: async ({ LoadBalancerNames }, send) => {
    const all = await inBatches(LoadBalancerNames, resourcesPerDescribe, async (batch) =>
      list((await send(new Sdk.DescribeTagsCommand({ LoadBalancerNames: [...batch] }))).TagDescriptions),
    );
    return {
      TagDescriptions: all.map(({ LoadBalancerName, Tags }) => ({
        LoadBalancerName: required(LoadBalancerName, 'LoadBalancerName'),
        Tags: toTags(Tags),
      })),
    };
  },

  CreateLoadBalancer: async (input, send) => ({
    DNSName: required((await send(new Sdk.CreateLoadBalancerCommand(changeable(input)))).DNSName, 'DNSName'),
  }),

  DeleteLoadBalancer: (input, send) => send(new Sdk.DeleteLoadBalancerCommand(input)),
  CreateLoadBalancerListeners: (input, send) => send(new Sdk.CreateLoadBalancerListenersCommand(changeable(input))),
  DeleteLoadBalancerListeners: (input, send) => send(new Sdk.DeleteLoadBalancerListenersCommand(changeable(input))),
  SetLoadBalancerListenerSSLCertificate: (input, send) => send(new Sdk.SetLoadBalancerListenerSSLCertificateCommand(input)),
  CreateLoadBalancerPolicy: (input, send) => send(new Sdk.CreateLoadBalancerPolicyCommand(changeable(input))),
  SetLoadBalancerPoliciesOfListener: (input, send) => send(new Sdk.SetLoadBalancerPoliciesOfListenerCommand(changeable(input))),
  SetLoadBalancerPoliciesForBackendServer: (input, send) => send(new Sdk.SetLoadBalancerPoliciesForBackendServerCommand(changeable(input))),
  ConfigureHealthCheck: (input, send) => send(new Sdk.ConfigureHealthCheckCommand(input)),
  ModifyLoadBalancerAttributes: (input, send) => send(new Sdk.ModifyLoadBalancerAttributesCommand(input)),
  AttachLoadBalancerToSubnets: (input, send) => send(new Sdk.AttachLoadBalancerToSubnetsCommand(changeable(input))),
  DetachLoadBalancerFromSubnets: (input, send) => send(new Sdk.DetachLoadBalancerFromSubnetsCommand(changeable(input))),
  ApplySecurityGroupsToLoadBalancer: (input, send) => send(new Sdk.ApplySecurityGroupsToLoadBalancerCommand(changeable(input))),
  RegisterInstancesWithLoadBalancer: (input, send) => send(new Sdk.RegisterInstancesWithLoadBalancerCommand(changeable(input))),
  DeregisterInstancesFromLoadBalancer: (input, send) => send(new Sdk.DeregisterInstancesFromLoadBalancerCommand(changeable(input))),
  AddTags: (input, send) => send(new Sdk.AddTagsCommand(changeable(input))),
  RemoveTags: (input, send) => send(new Sdk.RemoveTagsCommand(changeable(input))),
};
