import type { WriteOperation } from '../cloud/operations.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import { limits } from '../limits.ts';
import { isOurKey, tagList } from '../tags.ts';
import type { Action, ActionOf, Wait } from './action.ts';
import type { Tags } from './observed.ts';

type Rest<O extends WriteOperation> = Omit<ActionOf<O>, 'id' | 'operation' | 'needs'> & {
  readonly needs?: readonly (string | undefined)[];
};

/** A plan in the making. */
export class Steps {
  readonly actions: Action[] = [];
  readonly waits: Wait[] = [];
  /** What has to be told, beside what is done. */
  readonly problems: Reason[] = [];

  /** Returns the id, for the `needs` of later actions. */
  add<O extends WriteOperation>(id: string, operation: O, { needs = [], ...rest }: Rest<O>): string {
    this.actions.push({ id, operation, ...rest, needs: needs.filter((need) => need !== undefined) } as unknown as Action);
    return id;
  }

  wait(what: string, seconds: number = limits.pollSeconds): void {
    this.waits.push({ for: what, seconds });
  }

  problem(problem: Reason): void {
    this.problems.push(problem);
  }

  awaiting(what: string, seconds: number = limits.pollSeconds): void {
    this.wait(what, seconds);
    this.problem(reason('AwsProvisioning', { waitsFor: what }));
  }
}

export interface TagDifference {
  readonly add: ReturnType<typeof tagList>;
  readonly remove: readonly string[];
}

/** Tags that are missing or differ, and those of ours that do not belong there; what others have set stays. Undefined: none. */
export function tagDifference(actual: Tags, desired: Tags): TagDifference | undefined {
  const add = tagList(Object.fromEntries(Object.entries(desired).filter(([key, value]) => actual[key] !== value)));
  const remove = Object.keys(actual).filter((key) => isOurKey(key) && desired[key] === undefined);
  return add.length === 0 && remove.length === 0 ? undefined : { add, remove };
}

/** Tags of load balancers, listeners and target groups of version 2. */
export function planTags(steps: Steps, what: string, arn: string, actual: Tags, desired: Tags): void {
  const difference = tagDifference(actual, desired);
  if (difference === undefined) return;
  const { add, remove } = difference;
  if (add.length > 0) {
    steps.add(`${what}: tag`, 'elbv2:AddTags', {
      input: { ResourceArns: [arn], Tags: add },
      reason: `tags ${keys(add.map(({ Key }) => Key))} are missing or differ`,
    });
  }
  if (remove.length > 0) {
    steps.add(`${what}: untag`, 'elbv2:RemoveTags', {
      input: { ResourceArns: [arn], TagKeys: remove },
      reason: `tags ${keys(remove)} no longer hold`,
    });
  }
}

function keys(names: readonly string[]): string {
  return names.join(', ');
}

/** Attributes whose value differs; those that are not desired are not ours to change. */
export function attributeDifference(
  actual: readonly { readonly Key: string; readonly Value: string }[],
  desired: Tags,
): ReturnType<typeof tagList> {
  const values = new Map(actual.map(({ Key, Value }) => [Key, Value]));
  return tagList(Object.fromEntries(Object.entries(desired).filter(([key, value]) => values.get(key) !== value)));
}
