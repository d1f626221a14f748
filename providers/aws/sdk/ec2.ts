import type { Filter as SdkFilter } from '@aws-sdk/client-ec2';
import { defined } from '../../../src/lang/defined.ts';
import type { Filter } from '../cloud/ec2.ts';
import { changeable, list, required } from './answers/answer.ts';
import { toElasticIp, toInstance, toNetworkInterface, toRouteTable, toSecurityGroup, toSubnet, toVpc } from './answers/ec2.ts';
import { ec2Commands } from './ec2-client/commands.ts';
import { endpointServices } from './endpoint-services.ts';
import { limits } from './limits.ts';
import { allPages, inBatches, type ItemOf, type OperationsOf, type Page } from './send.ts';

const { pageItems: MaxResults, filterValues } = limits;

/** The operations of EC2, by the SDK. */
export const ec2: OperationsOf<'ec2'> = {
  ...endpointServices,

  DescribeVpcs: async ({ VpcIds }, send) => ({
    Vpcs: list((await send(new ec2Commands.DescribeVpcsCommand({ VpcIds: [...VpcIds] }))).Vpcs).map(toVpc),
  }),

  DescribeSubnets: async ({ Filters }, send) => {
    const all = await filtered('Subnets', Filters, (page) => send(new ec2Commands.DescribeSubnetsCommand(page)));
    return { Subnets: onlyOnce(all.map(toSubnet), ({ SubnetId }) => SubnetId) };
  },

  DescribeRouteTables: async ({ Filters }, send) => {
    // AWS returns at most 100 route tables per page.
    const all = await filtered('RouteTables', Filters, (page) =>
      send(new ec2Commands.DescribeRouteTablesCommand({ ...page, MaxResults: 100 })),
    );
    return { RouteTables: onlyOnce(all.map(toRouteTable), ({ RouteTableId }) => RouteTableId) };
  },

  DescribeSecurityGroups: async ({ GroupIds, Filters = [] }, send) => {
    const all =
      GroupIds === undefined
        ? await filtered('SecurityGroups', Filters, (page) => send(new ec2Commands.DescribeSecurityGroupsCommand(page)))
        : // With ids AWS accepts no page size and returns all groups at once.
          await inBatches(GroupIds, filterValues, async (batch) => {
            const input = { GroupIds: [...batch], ...(Filters.length === 0 ? {} : { Filters: changeable(Filters) }) };
            return list((await send(new ec2Commands.DescribeSecurityGroupsCommand(input))).SecurityGroups);
          });
    return { SecurityGroups: onlyOnce(all.map(toSecurityGroup), ({ GroupId }) => GroupId) };
  },

  // Uses a filter, because a missing id would fail the request for all ids.
  DescribeInstances: async ({ InstanceIds }, send) => {
    const filters = [{ Name: 'instance-id', Values: InstanceIds }];
    const all = await filtered('Reservations', filters, (page) => send(new ec2Commands.DescribeInstancesCommand(page)));
    return { Instances: all.flatMap(({ Instances }) => list(Instances).flatMap(toInstance)) };
  },

  DescribeNetworkInterfaces: async ({ Filters }, send) => {
    const all = await filtered('NetworkInterfaces', Filters, (page) => send(new ec2Commands.DescribeNetworkInterfacesCommand(page)));
    return { NetworkInterfaces: onlyOnce(all.map(toNetworkInterface), ({ NetworkInterfaceId }) => NetworkInterfaceId) };
  },

  // The answer has no pages.
  DescribeAddresses: async ({ Filters }, send) => ({
    Addresses: list((await send(new ec2Commands.DescribeAddressesCommand({ Filters: changeable(Filters) }))).Addresses).map(toElasticIp),
  }),

  CreateSecurityGroup: async (input, send) => ({
    GroupId: required((await send(new ec2Commands.CreateSecurityGroupCommand(changeable(input)))).GroupId, 'GroupId'),
  }),

  DeleteSecurityGroup: (input, send) => send(new ec2Commands.DeleteSecurityGroupCommand(input)),
  AuthorizeSecurityGroupIngress: (input, send) => send(new ec2Commands.AuthorizeSecurityGroupIngressCommand(changeable(input))),
  RevokeSecurityGroupIngress: (input, send) => send(new ec2Commands.RevokeSecurityGroupIngressCommand(changeable(input))),
  CreateTags: (input, send) => send(new ec2Commands.CreateTagsCommand(changeable(input))),
  DeleteTags: (input, send) => send(new ec2Commands.DeleteTagsCommand(changeable(input))),
};

interface PageInput {
  Filters: SdkFilter[];
  MaxResults: number;
  NextToken?: string;
}

/** Reads all pages of an answer. If a filter has more values than AWS accepts, the request is split. */
function filtered<Name extends string, Answer extends Page<Name>>(
  name: Name,
  filters: readonly Filter[],
  read: (page: PageInput) => Promise<Answer>,
): Promise<ItemOf<Answer[Name]>[]> {
  const longest = filters.reduce((most, { Values }) => Math.max(most, Values.length), 0);
  const long = filters.find(({ Values }) => Values.length === longest && longest > filterValues);
  const pagesOf = (Filters: readonly Filter[]) =>
    allPages(name, (NextToken) => read({ Filters: changeable(Filters), MaxResults, ...defined({ NextToken }) }));
  if (long === undefined) return pagesOf(filters);
  return inBatches(long.Values, filterValues, (Values) =>
    pagesOf(filters.map((filter) => (filter === long ? { Name: long.Name, Values } : filter))),
  );
}

/** Removes duplicates: an item that matches values in two parts of a split filter is in both answers. */
function onlyOnce<Item>(items: readonly Item[], key: (item: Item) => string): Item[] {
  return [...new Map(items.map((item) => [key(item), item])).values()];
}
