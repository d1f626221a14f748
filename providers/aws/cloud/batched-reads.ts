import type { Cloud } from './cloud.ts';
import type { SecurityGroup } from './ec2.ts';
import type { Input, Operation, Output } from './operations.ts';
import { Batch } from './batch.ts';
import { currentUrgency } from './urgency.ts';

/** Load balancers, target groups, or resources with tags that AWS describes in one request. Security groups are read by so many tags. */
const describedAtOnce = 20;

/**
 * Reads load balancers, target groups, tags and security groups of several Services with one request. Calls of different urgency are not
 * mixed: a request for a new Service does not wait for one of re-reads.
 */
export class BatchedReads implements Cloud {
  readonly #cloud: Cloud;
  readonly #batches = new Map<string, Batch<unknown>>();

  constructor(cloud: Cloud) {
    this.#cloud = cloud;
  }

  async call<O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> {
    const batched = (await this.#batched(operation, input)) as Output<O> | undefined;
    return batched ?? this.#cloud.call(operation, input);
  }

  /** Undefined: the call is not one of those that can share a request. */
  async #batched(operation: Operation, input: unknown): Promise<object | undefined> {
    const cloud = this.#cloud;
    if (operation === 'elbv2:DescribeLoadBalancers') {
      const { LoadBalancerArns: arns } = input as Input<typeof operation>;
      if (arns === undefined) return undefined;
      const ask = async (LoadBalancerArns: readonly string[]) => (await cloud.call(operation, { LoadBalancerArns })).LoadBalancers;
      return { LoadBalancers: await this.#load(operation, arns, ask, ({ LoadBalancerArn }) => LoadBalancerArn) };
    }
    if (operation === 'elbv2:DescribeTargetGroups') {
      const { TargetGroupArns: arns } = input as Input<typeof operation>;
      if (arns === undefined) return undefined;
      const ask = async (TargetGroupArns: readonly string[]) => (await cloud.call(operation, { TargetGroupArns })).TargetGroups;
      return { TargetGroups: await this.#load(operation, arns, ask, ({ TargetGroupArn }) => TargetGroupArn) };
    }
    if (operation === 'elbv2:DescribeTags') {
      const { ResourceArns: arns } = input as Input<typeof operation>;
      const ask = async (ResourceArns: readonly string[]) => (await cloud.call(operation, { ResourceArns })).TagDescriptions;
      return { TagDescriptions: await this.#load(operation, arns, ask, ({ ResourceArn }) => ResourceArn) };
    }
    if (operation === 'ec2:DescribeSecurityGroups') {
      const { GroupIds, Filters = [] } = input as Input<typeof operation>;
      const last = Filters.at(-1);
      const tag = /^tag:(.+)/.exec(last?.Name ?? '')?.[1];
      if (GroupIds !== undefined || last === undefined || tag === undefined) return undefined;
      const others = Filters.slice(0, -1);
      const ask = async (Values: readonly string[]) =>
        (await cloud.call(operation, { Filters: [...others, { Name: last.Name, Values }] })).SecurityGroups;
      const valueOf = ({ Tags }: SecurityGroup): string => Tags.find(({ Key }) => Key === tag)?.Value ?? '';
      return { SecurityGroups: await this.#load(`${operation} ${JSON.stringify([others, tag])}`, last.Values, ask, valueOf) };
    }
    return undefined;
  }

  /** `question`: everything besides the ids that calls must have in common to share a request. */
  #load<Item>(
    question: string,
    ids: readonly string[],
    ask: (ids: readonly string[]) => Promise<readonly Item[]>,
    idOf: (item: Item) => string,
  ): Promise<readonly Item[]> {
    const key = `${question} ${currentUrgency()}`;
    const batch = (this.#batches.get(key) as Batch<Item> | undefined) ?? new Batch(describedAtOnce, ask, idOf);
    this.#batches.set(key, batch as Batch<unknown>);
    return batch.load(ids);
  }
}
