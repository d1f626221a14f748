import * as Sdk from '@aws-sdk/client-elastic-load-balancing-v2';
import { defined } from '../../../src/lang/defined.ts';
import { changeable, list, required } from './answers/answer.ts';
import {
  toAttributes,
  toCapacityReservation,
  toListener,
  toListenerCertificate,
  toLoadBalancer,
  toTagDescription,
  toTargetGroup,
  toTargetHealth,
} from './answers/elbv2.ts';
import { limits } from './limits.ts';
import { allPages, inBatches, type OperationsOf } from './send.ts';

const { pageItems: PageSize, certificatePageItems, resourcesPerDescribe } = limits;

/** The operations of Elastic Load Balancing v2, by the SDK. */
export const elbv2: OperationsOf<'elbv2'> = {
  DescribeLoadBalancers: async ({ LoadBalancerArns, Names }, send) => {
    const read = (input: { LoadBalancerArns?: string[]; Names?: string[]; PageSize?: number }) =>
      allPages('LoadBalancers', (Marker) => send(new Sdk.DescribeLoadBalancersCommand({ ...input, ...defined({ Marker }) })));
    const LoadBalancers =
      LoadBalancerArns !== undefined
        ? await inBatches(LoadBalancerArns, resourcesPerDescribe, (batch) => read({ LoadBalancerArns: [...batch] }))
        : Names !== undefined
          ? await inBatches(Names, resourcesPerDescribe, (batch) => read({ Names: [...batch] }))
          : await read({ PageSize });
    return { LoadBalancers: LoadBalancers.map(toLoadBalancer) };
  },

  DescribeLoadBalancerAttributes: async (input, send) => ({
    Attributes: toAttributes((await send(new Sdk.DescribeLoadBalancerAttributesCommand(input))).Attributes),
  }),

  DescribeCapacityReservation: async (input, send) => toCapacityReservation(await send(new Sdk.DescribeCapacityReservationCommand(input))),

  DescribeListeners: async (input, send) => {
    const all = await allPages('Listeners', (Marker) =>
      send(new Sdk.DescribeListenersCommand({ ...input, PageSize, ...defined({ Marker }) })),
    );
    return { Listeners: all.map(toListener) };
  },

  DescribeListenerAttributes: async (input, send) => ({
    Attributes: toAttributes((await send(new Sdk.DescribeListenerAttributesCommand(input))).Attributes),
  }),

  DescribeListenerCertificates: async (input, send) => {
    const all = await allPages('Certificates', (Marker) =>
      send(new Sdk.DescribeListenerCertificatesCommand({ ...input, PageSize: certificatePageItems, ...defined({ Marker }) })),
    );
    return { Certificates: all.map(toListenerCertificate) };
  },

  DescribeSSLPolicies: async ({ Names }, send) => {
    const { SslPolicies } = await send(new Sdk.DescribeSSLPoliciesCommand({ Names: [...Names] }));
    return { SslPolicies: list(SslPolicies).map(({ Name }) => ({ Name: required(Name, 'Name') })) };
  },

  DescribeTargetGroups: async ({ LoadBalancerArn, TargetGroupArns, Names }, send) => {
    const read = (input: { LoadBalancerArn?: string; TargetGroupArns?: string[]; Names?: string[]; PageSize?: number }) =>
      allPages('TargetGroups', (Marker) => send(new Sdk.DescribeTargetGroupsCommand({ ...input, ...defined({ Marker }) })));
    const TargetGroups =
      TargetGroupArns !== undefined
        ? await inBatches(TargetGroupArns, resourcesPerDescribe, (batch) => read({ TargetGroupArns: [...batch] }))
        : Names !== undefined
          ? await inBatches(Names, resourcesPerDescribe, (batch) => read({ Names: [...batch] }))
          : await read({ PageSize, ...defined({ LoadBalancerArn }) });
    return { TargetGroups: TargetGroups.map(toTargetGroup) };
  },

  DescribeTargetGroupAttributes: async (input, send) => ({
    Attributes: toAttributes((await send(new Sdk.DescribeTargetGroupAttributesCommand(input))).Attributes),
  }),

  DescribeTargetHealth: async (input, send) => {
    const { TargetHealthDescriptions } = await send(new Sdk.DescribeTargetHealthCommand(input));
    return { TargetHealthDescriptions: list(TargetHealthDescriptions).map(toTargetHealth) };
  },

  DescribeTags: async ({ ResourceArns }, send) => {
    const all = await inBatches(ResourceArns, resourcesPerDescribe, async (batch) =>
      list((await send(new Sdk.DescribeTagsCommand({ ResourceArns: [...batch] }))).TagDescriptions),
    );
    return { TagDescriptions: all.map(toTagDescription) };
  },

  CreateLoadBalancer: async (input, send) => {
    const { LoadBalancers } = await send(new Sdk.CreateLoadBalancerCommand(changeable(input)));
    return { LoadBalancers: list(LoadBalancers).map(toLoadBalancer) };
  },

  CreateTargetGroup: async (input, send) => {
    const { TargetGroups } = await send(new Sdk.CreateTargetGroupCommand(changeable(input)));
    return { TargetGroups: list(TargetGroups).map(toTargetGroup) };
  },

  CreateListener: async (input, send) => {
    const { Listeners } = await send(new Sdk.CreateListenerCommand(changeable(input)));
    return { Listeners: list(Listeners).map(toListener) };
  },

  ModifyLoadBalancerAttributes: (input, send) => send(new Sdk.ModifyLoadBalancerAttributesCommand(changeable(input))),
  ModifyCapacityReservation: (input, send) => send(new Sdk.ModifyCapacityReservationCommand(input)),
  SetSubnets: (input, send) => send(new Sdk.SetSubnetsCommand(changeable(input))),
  SetSecurityGroups: (input, send) => send(new Sdk.SetSecurityGroupsCommand(changeable(input))),
  SetIpAddressType: (input, send) => send(new Sdk.SetIpAddressTypeCommand(input)),
  DeleteLoadBalancer: (input, send) => send(new Sdk.DeleteLoadBalancerCommand(input)),
  ModifyTargetGroup: (input, send) => send(new Sdk.ModifyTargetGroupCommand(input)),
  ModifyTargetGroupAttributes: (input, send) => send(new Sdk.ModifyTargetGroupAttributesCommand(changeable(input))),
  DeleteTargetGroup: (input, send) => send(new Sdk.DeleteTargetGroupCommand(input)),
  RegisterTargets: (input, send) => send(new Sdk.RegisterTargetsCommand(changeable(input))),
  DeregisterTargets: (input, send) => send(new Sdk.DeregisterTargetsCommand(changeable(input))),
  ModifyListener: (input, send) => send(new Sdk.ModifyListenerCommand(changeable(input))),
  ModifyListenerAttributes: (input, send) => send(new Sdk.ModifyListenerAttributesCommand(changeable(input))),
  DeleteListener: (input, send) => send(new Sdk.DeleteListenerCommand(input)),
  AddListenerCertificates: (input, send) => send(new Sdk.AddListenerCertificatesCommand(changeable(input))),
  RemoveListenerCertificates: (input, send) => send(new Sdk.RemoveListenerCertificatesCommand(changeable(input))),
  AddTags: (input, send) => send(new Sdk.AddTagsCommand(changeable(input))),
  RemoveTags: (input, send) => send(new Sdk.RemoveTagsCommand(changeable(input))),
};
