import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import type { Circumstances } from '../model/circumstances.ts';
import { desireStack, membersOf, type Member } from '../desire/stack.ts';
import type { StackTargets } from '../node-rules/reconcile-node-rules.ts';
import { targetsOf } from './reconcile-stack.ts';
import type { AwsSettings } from '../model/settings.ts';
import { parseStackKey } from './stack-registry.ts';
import { stacksInUse } from './stack-users.ts';

interface OtherStacks {
  readonly targets: readonly StackTargets[];
  readonly members: readonly Member[];
}

/**
 * Where the load balancers of all Services but those of one stack reach their targets, as the Services ask for it: none of them is looked at in AWS.
 * Undefined: one of them is not understood, so that nothing can be said of what nobody needs.
 */
export function desiredTargetsOfOthers(
  except: string,
  snapshot: Snapshot,
  settings: AwsSettings,
  circumstances: Omit<Circumstances, 'existing'>,
): OtherStacks | undefined {
  const targets: StackTargets[] = [];
  const all: Member[] = [];
  for (const stack of stacksInUse(snapshot, settings, 'served')) {
    if (stack === except) continue;
    const members = membersOf(stack, snapshot, settings);
    const { desired, errors } = desireStack(parseStackKey(stack), members, { ...circumstances, existing: {} });
    if (desired === undefined || errors.size > 0) return undefined;
    targets.push(targetsOf(desired));
    all.push(...members);
  }
  return { targets, members: all };
}
