import type { Tag } from '../../cloud/elbv2.ts';
import type { WriteOperation } from '../../cloud/operations.ts';
import { reason, type Reason } from '../../../../src/model/reasons.ts';
import { limits } from '../../model/limits.ts';
import { askedKeys, isBeforeKey, isOurKey, tagList } from '../../model/tags.ts';
import type { Action, ActionOf, Wait } from './action.ts';
import type { Tags } from '../../model/observed.ts';

type Rest<O extends WriteOperation> = Omit<ActionOf<O>, 'id' | 'operation' | 'needs'> & {
  readonly needs?: readonly (string | undefined)[];
};

/** A plan under construction. */
export class Steps {
  readonly actions: Action[] = [];
  readonly waits: Wait[] = [];
  /** Problems to report beside the actions. */
  readonly problems: Reason[] = [];

  /** Adds an action and returns its id, for the `needs` of later actions. */
  addAction<O extends WriteOperation>(id: string, operation: O, { needs = [], ...rest }: Rest<O>): string {
    this.actions.push({ id, operation, ...rest, needs: needs.filter((need) => need !== undefined) } as unknown as Action);
    return id;
  }

  wait(what: string, seconds: number = limits.pollSeconds): void {
    this.waits.push({ for: what, seconds });
  }

  addProblem(problem: Reason): void {
    this.problems.push(problem);
  }

  waitAndReport(what: string, seconds: number = limits.pollSeconds): void {
    this.wait(what, seconds);
    this.addProblem(reason('AwsProvisioning', { waitsFor: what }));
  }
}

interface TagDifference {
  readonly add: readonly Tag[];
  readonly remove: readonly string[];
}

/**
 * Returns the tags to add or change, and the tags to remove: our own and requested ones that are no longer desired. Tags of others stay,
 * and the tags that keep previous attribute values are ignored. Undefined: no difference.
 */
function tagDifference(actual: Tags, desired: Tags): TagDifference | undefined {
  const add = tagList(Object.fromEntries(Object.entries(desired).filter(([key, value]) => actual[key] !== value)));
  const ours = Object.keys(actual).filter((key) => isOurKey(key) && !isBeforeKey(key));
  const remove = [...askedKeys(actual), ...ours].filter((key) => desired[key] === undefined);
  return add.length === 0 && remove.length === 0 ? undefined : { add, remove };
}

/** A resource of ELB v2, a Classic ELB or a resource of EC2, as the requests about tags name it. */
export type TaggedResource =
  | { readonly ResourceArns: readonly [string] }
  | { readonly LoadBalancerNames: readonly [string] }
  | { readonly Resources: readonly [string] };

type Why = Pick<Rest<WriteOperation>, 'reason' | 'needs'>;

/** Returns the id of the action. */
export function addTags(steps: Steps, id: string, resource: TaggedResource, Tags: readonly Tag[], why: Why): string {
  if ('ResourceArns' in resource) return steps.addAction(id, 'elbv2:AddTags', { input: { ...resource, Tags }, ...why });
  if ('Resources' in resource) return steps.addAction(id, 'ec2:CreateTags', { input: { ...resource, Tags }, ...why });
  return steps.addAction(id, 'elb:AddTags', { input: { ...resource, Tags }, ...why });
}

/** Returns the id of the action. */
export function removeTags(steps: Steps, id: string, resource: TaggedResource, TagKeys: readonly string[], why: Why): string {
  if ('ResourceArns' in resource) return steps.addAction(id, 'elbv2:RemoveTags', { input: { ...resource, TagKeys }, ...why });
  const Tags = TagKeys.map((Key) => ({ Key }));
  if ('Resources' in resource) return steps.addAction(id, 'ec2:DeleteTags', { input: { ...resource, Tags }, ...why });
  return steps.addAction(id, 'elb:RemoveTags', { input: { ...resource, Tags }, ...why });
}

/**
 * Plans tag changes. Tags are removed before others are added: the added tags include the note of requested keys, and without the old note
 * a later reconcile would not know which tags it may remove. Returns the id of the last action, or undefined if the tags are as desired.
 */
export function planTags(steps: Steps, what: string, resource: TaggedResource, actual: Tags, desired: Tags): string | undefined {
  const difference = tagDifference(actual, desired);
  if (difference === undefined) return undefined;
  const { add, remove } = difference;
  const removed =
    remove.length === 0
      ? undefined
      : removeTags(steps, `${what}: untag`, resource, remove, { reason: `tags ${remove.join(', ')} are no longer desired` });
  if (add.length === 0) return removed;
  const reason = `tags ${add.map(({ Key }) => Key).join(', ')} are missing or differ`;
  return addTags(steps, `${what}: tag`, resource, add, { reason, needs: [removed] });
}
