import { reason, type Reason } from '../../../../src/model/reasons.ts';
import { limits } from '../../model/limits.ts';
import { placeholderName, type Action } from '../../plan/steps/action.ts';
import type { Outcome } from './execute.ts';

interface Writes {
  /** The state that was observed before the last write. */
  readonly observed: string;
  /** In a row. */
  readonly times: number;
}

interface Admitted {
  readonly actions: readonly Action[];
  /** Why actions are withheld. */
  readonly reasons: readonly Reason[];
}

/**
 * Withholds a write that has succeeded several times in a row with the same input. AWS does not show its effect, or another program undoes
 * it, so one more write would not help. It is made again when its input or the observed state has changed.
 */
export class RepeatedWrites {
  /** By operation and input. */
  readonly #writes = new Map<string, Writes>();

  /** Returns the actions that may be executed. `observed`: the state before them, as text. */
  admit(actions: readonly Action[], observed: string): Admitted {
    const planned = new Set(actions.map(keyOf));
    for (const key of this.#writes.keys()) if (!planned.has(key)) this.#writes.delete(key);
    const withheld = actions.filter((action) => this.#isWithheld(action, observed));
    const ids = new Set(withheld.map(({ id }) => id));
    // An action that needs a withheld one is not made either. The first one is the cause.
    const causes = withheld.filter(({ needs, isUnverifiable }) => isUnverifiable !== true && !needs.some((need) => ids.has(need)));
    const settled = new Set(withheld.filter(({ isUnverifiable }) => isUnverifiable).map(({ id }) => id));
    return {
      actions: actions.filter(({ id }) => !ids.has(id)).map((one) => ({ ...one, needs: one.needs.filter((need) => !settled.has(need)) })),
      reasons: causes.map(reasonOf),
    };
  }

  record(outcomes: readonly Outcome[], observed: string): void {
    const undone = undoneBy(outcomes);
    for (const { action, result } of outcomes) {
      const key = keyOf(action);
      // Herald itself has undone it, because AWS refuses what follows. That refusal is what is reported.
      if (undone.has(action.id)) this.#writes.delete(key);
      else if (result === 'done') this.#writes.set(key, { observed, times: (this.#writes.get(key)?.times ?? 0) + 1 });
    }
  }

  #isWithheld(action: Action, observed: string): boolean {
    const key = keyOf(action);
    const writes = this.#writes.get(key);
    if (action.isUnverifiable === true) return writes !== undefined;
    if (writes === undefined || writes.times < limits.sameWrites) return false;
    if (writes.observed === observed) return true;
    this.#writes.delete(key);
    return false;
  }

  /** The Service asks for something else: every write is made again. */
  forget(): void {
    this.#writes.clear();
  }
}

/** Returns the ids of actions that Herald has undone, because an action that follows them has failed. */
function undoneBy(outcomes: readonly Outcome[]): ReadonlySet<string> {
  const undone = new Set<string>();
  // A need stands before the action that needs it.
  for (const { action, result } of outcomes.toReversed()) {
    const isUndone = undone.has(action.id) || (result === 'failed' && action.otherwise !== undefined);
    if (isUndone) for (const need of action.needs) undone.add(need);
  }
  return undone;
}

function keyOf({ operation, input }: Action): string {
  return `${operation} ${JSON.stringify(input)}`;
}

function reasonOf({ id, operation, input }: Action): Reason {
  return reason('AwsWithoutEffect', { operation, what: id, object: objectOf(input), times: limits.sameWrites });
}

/** The name or ARN of the resource that the input concerns. */
function objectOf(input: object): string {
  const fields = [
    'LoadBalancerName',
    'GroupName',
    'Name',
    'ListenerArn',
    'TargetGroupArn',
    'LoadBalancerArn',
    'GroupId',
    'ResourceArns',
    'Resources',
  ];
  const values = new Map(Object.entries(input));
  const found = fields.flatMap((field) => values.get(field) ?? []).flat();
  return String(found.find((one) => typeof one === 'string' && placeholderName(one) === undefined) ?? '');
}
