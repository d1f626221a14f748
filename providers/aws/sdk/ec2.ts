import type { Filter as SdkFilter } from '@aws-sdk/client-ec2';
import { defined } from '../../../src/lang/defined.ts';
import type { Filter } from '../cloud/ec2.ts';
import { changeable, list, required } from './answers/answer.ts';
import { toElasticIp, toInstance, toNetworkInterface, toRouteTable, toSecurityGroup, toSubnet, toVpc } from './answers/ec2.ts';
import {
  AuthorizeSecurityGroupIngressCommand,
  CreateSecurityGroupCommand,
  CreateTagsCommand,
  DeleteSecurityGroupCommand,
  DeleteTagsCommand,
  DescribeAddressesCommand,
  DescribeInstancesCommand,
  DescribeNetworkInterfacesCommand,
  DescribeRouteTablesCommand,
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  DescribeVpcsCommand,
  RevokeSecurityGroupIngressCommand,
} from './ec2-client/commands.ts';
import { endpointServices } from './endpoint-services.ts';
import { limits } from './limits.ts';
import { allPages, inBatches, type OperationsOf } from './send.ts';

const { pageItems: MaxResults, filterValues } = limits;

/** The operations of EC2, by the SDK. */
export const ec2: OperationsOf<'ec2'> = {
  ...endpointServices,

  DescribeVpcs: async ({ VpcIds }, send) => ({
    Vpcs: list((await send(new DescribeVpcsCommand({ VpcIds: [...VpcIds] }))).Vpcs).map(toVpc),
  }),

  DescribeSubnets: async ({ Filters }, send) => {
    const all = await filtered(Filters, async (page) => {
      const answer = await send(new DescribeSubnetsCommand(page));
      return { items: answer.Subnets, next: answer.NextToken };
    });
    return { Subnets: onlyOnce(all.map(toSubnet), ({ SubnetId }) => SubnetId) };
  },

  DescribeRouteTables: async ({ Filters }, send) => {
    const all = await filtered(Filters, async (page) => {
      // AWS returns at most 100 route tables per page.
      const answer = await send(new DescribeRouteTablesCommand({ ...page, MaxResults: 100 }));
      return { items: answer.RouteTables, next: answer.NextToken };
    });
    return { RouteTables: onlyOnce(all.map(toRouteTable), ({ RouteTableId }) => RouteTableId) };
  },

  DescribeSecurityGroups: async ({ GroupIds, Filters = [] }, send) => {
    const all =
      GroupIds === undefined
        ? await filtered(Filters, async (page) => {
            const answer = await send(new DescribeSecurityGroupsCommand(page));
            return { items: answer.SecurityGroups, next: answer.NextToken };
          })
        : // With ids AWS accepts no page size and returns all groups at once.
          await inBatches(GroupIds, filterValues, async (batch) => {
            const input = { GroupIds: [...batch], ...(Filters.length === 0 ? {} : { Filters: changeable(Filters) }) };
            return list((await send(new DescribeSecurityGroupsCommand(input))).SecurityGroups);
          });
    return { SecurityGroups: onlyOnce(all.map(toSecurityGroup), ({ GroupId }) => GroupId) };
  },

  // Uses a filter, because a missing id would fail the request for all ids.
  DescribeInstances: async ({ InstanceIds }, send) => {
    const all = await filtered([{ Name: 'instance-id', Values: InstanceIds }], async (page) => {
      const answer = await send(new DescribeInstancesCommand(page));
      return { items: list(answer.Reservations).flatMap(({ Instances }) => list(Instances)), next: answer.NextToken };
    });
    return { Instances: all.flatMap(toInstance) };
  },

  DescribeNetworkInterfaces: async ({ Filters }, send) => {
    const all = await filtered(Filters, async (page) => {
      const answer = await send(new DescribeNetworkInterfacesCommand(page));
      return { items: answer.NetworkInterfaces, next: answer.NextToken };
    });
    return { NetworkInterfaces: onlyOnce(all.map(toNetworkInterface), ({ NetworkInterfaceId }) => NetworkInterfaceId) };
  },

  // The answer has no pages.
  DescribeAddresses: async ({ Filters }, send) => ({
    Addresses: list((await send(new DescribeAddressesCommand({ Filters: changeable(Filters) }))).Addresses).map(toElasticIp),
  }),

  CreateSecurityGroup: async (input, send) => ({
    GroupId: required((await send(new CreateSecurityGroupCommand(changeable(input)))).GroupId, 'GroupId'),
  }),

  DeleteSecurityGroup: (input, send) => send(new DeleteSecurityGroupCommand(input)),
  AuthorizeSecurityGroupIngress: (input, send) => send(new AuthorizeSecurityGroupIngressCommand(changeable(input))),
  RevokeSecurityGroupIngress: (input, send) => send(new RevokeSecurityGroupIngressCommand(changeable(input))),
  CreateTags: (input, send) => send(new CreateTagsCommand(changeable(input))),
  DeleteTags: (input, send) => send(new DeleteTagsCommand(changeable(input))),
};

interface Page {
  Filters: SdkFilter[];
  MaxResults: number;
  NextToken?: string;
}

/** Reads all pages of an answer. If a filter has more values than AWS accepts, the request is split. */
function filtered<Item>(
  filters: readonly Filter[],
  read: (page: Page) => Promise<{ readonly items: readonly Item[] | undefined; readonly next: string | undefined }>,
): Promise<Item[]> {
  const longest = filters.reduce((most, { Values }) => Math.max(most, Values.length), 0);
  const long = filters.find(({ Values }) => Values.length === longest && longest > filterValues);
  const pagesOf = (Filters: readonly Filter[]): Promise<Item[]> =>
    allPages((token) => read({ Filters: changeable(Filters), MaxResults, ...defined({ NextToken: token }) }));
  if (long === undefined) return pagesOf(filters);
  return inBatches(long.Values, filterValues, (Values) =>
    pagesOf(filters.map((filter) => (filter === long ? { Name: long.Name, Values } : filter))),
  );
}

/** Removes duplicates: an item that matches values in two parts of a split filter is in both answers. */
function onlyOnce<Item>(items: readonly Item[], key: (item: Item) => string): Item[] {
  return [...new Map(items.map((item) => [key(item), item])).values()];
}
