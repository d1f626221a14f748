import type { WriteOperation } from '../../cloud/operations.ts';
import { reason, type Reason } from '../../../../src/model/reasons.ts';
import { limits } from '../../model/limits.ts';
import { askedKeys, isBeforeKey, isOurKey, tagList } from '../../model/tags.ts';
import type { Action, ActionOf, Wait } from './action.ts';
import type { Tags } from '../../model/observed.ts';

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
 * Tags that are missing or differ, and those that do not belong there: of ours, and of those that were asked for. What others have set stays.
 * Undefined: none. What attributes were before is not looked at here.
 */
function tagDifference(actual: Tags, desired: Tags): TagDifference | undefined {
  const add = tagList(Object.fromEntries(Object.entries(desired).filter(([key, value]) => actual[key] !== value)));
  const ours = Object.keys(actual).filter((key) => isOurKey(key) && !isBeforeKey(key));
  const remove = [...askedKeys(actual), ...ours].filter((key) => desired[key] === undefined);
  return add.length === 0 && remove.length === 0 ? undefined : { add, remove };
}

/**
 * What goes before what comes: among what comes is the note of the tags that are asked for, without which nobody would know that they may
 * go. Returns the id of the last action, after which the tags are as desired; undefined: they are.
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
  const removed = remove.length === 0 ? undefined : make.remove(remove, `tags ${remove.join(', ')} no longer hold`);
  return add.length === 0 ? removed : make.add(add, `tags ${add.map(({ Key }) => Key).join(', ')} are missing or differ`, removed);
}

/** Tags of load balancers, listeners and target groups of version 2. Returns what whoever depends on them needs. */
export function planTags(steps: Steps, what: string, arn: string, actual: Tags, desired: Tags): string | undefined {
  const ResourceArns = [arn];
  return planTagDifference(actual, desired, {
    remove: (TagKeys, reason) => steps.addAction(`${what}: untag`, 'elbv2:RemoveTags', { input: { ResourceArns, TagKeys }, reason }),
    add: (Tags, reason, needs) =>
      steps.addAction(`${what}: tag`, 'elbv2:AddTags', { input: { ResourceArns, Tags }, reason, needs: [needs] }),
  });
}
