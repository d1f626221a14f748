import {
  AddListenerCertificatesCommand,
  AddTagsCommand,
  CreateListenerCommand,
  CreateLoadBalancerCommand,
  CreateTargetGroupCommand,
  DeleteListenerCommand,
  DeleteLoadBalancerCommand,
  DeleteTargetGroupCommand,
  DeregisterTargetsCommand,
  DescribeCapacityReservationCommand,
  DescribeListenerAttributesCommand,
  DescribeListenerCertificatesCommand,
  DescribeListenersCommand,
  DescribeLoadBalancerAttributesCommand,
  DescribeLoadBalancersCommand,
  DescribeTagsCommand,
  DescribeTargetGroupAttributesCommand,
  DescribeTargetGroupsCommand,
  DescribeTargetHealthCommand,
  ModifyCapacityReservationCommand,
  ModifyListenerAttributesCommand,
  ModifyListenerCommand,
  ModifyLoadBalancerAttributesCommand,
  ModifyTargetGroupAttributesCommand,
  ModifyTargetGroupCommand,
  RegisterTargetsCommand,
  RemoveListenerCertificatesCommand,
  RemoveTagsCommand,
  SetIpAddressTypeCommand,
  SetSecurityGroupsCommand,
  SetSubnetsCommand,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import { defined } from '../../../src/lang/defined.ts';
import { changeable, list } from './answers/answer.ts';
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
      allPages(async (Marker) => {
        const answer = await send(new DescribeLoadBalancersCommand({ ...input, ...defined({ Marker }) }));
        return { items: answer.LoadBalancers, next: answer.NextMarker };
      });
    const LoadBalancers =
      LoadBalancerArns !== undefined
        ? await inBatches(LoadBalancerArns, resourcesPerDescribe, (batch) => read({ LoadBalancerArns: [...batch] }))
        : Names !== undefined
          ? await inBatches(Names, resourcesPerDescribe, (batch) => read({ Names: [...batch] }))
          : await read({ PageSize });
    return { LoadBalancers: LoadBalancers.map(toLoadBalancer) };
  },

  DescribeLoadBalancerAttributes: async (input, send) => ({
    Attributes: toAttributes((await send(new DescribeLoadBalancerAttributesCommand(input))).Attributes),
  }),

  DescribeCapacityReservation: async (input, send) => toCapacityReservation(await send(new DescribeCapacityReservationCommand(input))),

  DescribeListeners: async (input, send) => {
    const all = await allPages(async (Marker) => {
      const answer = await send(new DescribeListenersCommand({ ...input, PageSize, ...defined({ Marker }) }));
      return { items: answer.Listeners, next: answer.NextMarker };
    });
    return { Listeners: all.map(toListener) };
  },

  DescribeListenerAttributes: async (input, send) => ({
    Attributes: toAttributes((await send(new DescribeListenerAttributesCommand(input))).Attributes),
  }),

  DescribeListenerCertificates: async (input, send) => {
    const all = await allPages(async (Marker) => {
      const page = { ...input, PageSize: certificatePageItems, ...defined({ Marker }) };
      const answer = await send(new DescribeListenerCertificatesCommand(page));
      return { items: answer.Certificates, next: answer.NextMarker };
    });
    return { Certificates: all.map(toListenerCertificate) };
  },

  DescribeTargetGroups: async ({ LoadBalancerArn, TargetGroupArns, Names }, send) => {
    const read = (input: { LoadBalancerArn?: string; TargetGroupArns?: string[]; Names?: string[]; PageSize?: number }) =>
      allPages(async (Marker) => {
        const answer = await send(new DescribeTargetGroupsCommand({ ...input, ...defined({ Marker }) }));
        return { items: answer.TargetGroups, next: answer.NextMarker };
      });
    const TargetGroups =
      TargetGroupArns !== undefined
        ? await inBatches(TargetGroupArns, resourcesPerDescribe, (batch) => read({ TargetGroupArns: [...batch] }))
        : Names !== undefined
          ? await inBatches(Names, resourcesPerDescribe, (batch) => read({ Names: [...batch] }))
          : await read({ PageSize, ...defined({ LoadBalancerArn }) });
    return { TargetGroups: TargetGroups.map(toTargetGroup) };
  },

  DescribeTargetGroupAttributes: async (input, send) => ({
    Attributes: toAttributes((await send(new DescribeTargetGroupAttributesCommand(input))).Attributes),
  }),

  DescribeTargetHealth: async (input, send) => {
    const { TargetHealthDescriptions } = await send(new DescribeTargetHealthCommand(input));
    return { TargetHealthDescriptions: list(TargetHealthDescriptions).map(toTargetHealth) };
  },

  DescribeTags: async ({ ResourceArns }, send) => {
    const all = await inBatches(ResourceArns, resourcesPerDescribe, async (batch) =>
      list((await send(new DescribeTagsCommand({ ResourceArns: [...batch] }))).TagDescriptions),
    );
    return { TagDescriptions: all.map(toTagDescription) };
  },

  CreateLoadBalancer: async (input, send) => {
    const { LoadBalancers } = await send(new CreateLoadBalancerCommand(changeable(input)));
    return { LoadBalancers: list(LoadBalancers).map(toLoadBalancer) };
  },

  CreateTargetGroup: async (input, send) => {
    const { TargetGroups } = await send(new CreateTargetGroupCommand(changeable(input)));
    return { TargetGroups: list(TargetGroups).map(toTargetGroup) };
  },

  CreateListener: async (input, send) => {
    const { Listeners } = await send(new CreateListenerCommand(changeable(input)));
    return { Listeners: list(Listeners).map(toListener) };
  },

  ModifyLoadBalancerAttributes: (input, send) => send(new ModifyLoadBalancerAttributesCommand(changeable(input))),
  ModifyCapacityReservation: (input, send) => send(new ModifyCapacityReservationCommand(input)),
  SetSubnets: (input, send) => send(new SetSubnetsCommand(changeable(input))),
  SetSecurityGroups: (input, send) => send(new SetSecurityGroupsCommand(changeable(input))),
  SetIpAddressType: (input, send) => send(new SetIpAddressTypeCommand(input)),
  DeleteLoadBalancer: (input, send) => send(new DeleteLoadBalancerCommand(input)),
  ModifyTargetGroup: (input, send) => send(new ModifyTargetGroupCommand(input)),
  ModifyTargetGroupAttributes: (input, send) => send(new ModifyTargetGroupAttributesCommand(changeable(input))),
  DeleteTargetGroup: (input, send) => send(new DeleteTargetGroupCommand(input)),
  RegisterTargets: (input, send) => send(new RegisterTargetsCommand(changeable(input))),
  DeregisterTargets: (input, send) => send(new DeregisterTargetsCommand(changeable(input))),
  ModifyListener: (input, send) => send(new ModifyListenerCommand(changeable(input))),
  ModifyListenerAttributes: (input, send) => send(new ModifyListenerAttributesCommand(changeable(input))),
  DeleteListener: (input, send) => send(new DeleteListenerCommand(input)),
  AddListenerCertificates: (input, send) => send(new AddListenerCertificatesCommand(changeable(input))),
  RemoveListenerCertificates: (input, send) => send(new RemoveListenerCertificatesCommand(changeable(input))),
  AddTags: (input, send) => send(new AddTagsCommand(changeable(input))),
  RemoveTags: (input, send) => send(new RemoveTagsCommand(changeable(input))),
};
