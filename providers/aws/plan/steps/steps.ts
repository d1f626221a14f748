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
  readonly add: ReturnType<typeof tagList>;
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

/**
 * Plans tag changes. Tags are removed before others are added: the added tags include the note of requested keys, and without the old note
 * a later reconcile would not know which tags it may remove. Returns the id of the last action, or undefined if the tags are as desired.
 */
export function planTagDifference(
  actual: Tags,
  desired: Tags,
  make: {
    readonly remove: (keys: readonly string[], reason: string) => string;
    readonly add: (tags: TagDifference['add'], reason: string, needs: string | undefined) => string;
  },
): string | undefined {
  const difference = tagDifference(actual, desired);
  if (difference === undefined) return undefined;
  const { add, remove } = difference;
  const removed = remove.length === 0 ? undefined : make.remove(remove, `tags ${remove.join(', ')} are no longer desired`);
  return add.length === 0 ? removed : make.add(add, `tags ${add.map(({ Key }) => Key).join(', ')} are missing or differ`, removed);
}

/** Plans the tags of a v2 load balancer, listener or target group. Returns the id of the action that later actions depend on. */
export function planTags(steps: Steps, what: string, arn: string, actual: Tags, desired: Tags): string | undefined {
  const ResourceArns = [arn];
  return planTagDifference(actual, desired, {
    remove: (TagKeys, reason) => steps.addAction(`${what}: untag`, 'elbv2:RemoveTags', { input: { ResourceArns, TagKeys }, reason }),
    add: (Tags, reason, needs) =>
      steps.addAction(`${what}: tag`, 'elbv2:AddTags', { input: { ResourceArns, Tags }, reason, needs: [needs] }),
  });
}
