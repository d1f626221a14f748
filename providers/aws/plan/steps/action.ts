import type { AwsErrorCode } from '../../cloud/error.ts';
import type { Input, WriteOperation } from '../../cloud/operations.ts';

/**
 * One planned call to AWS, with its reason. A resource that an earlier action of the plan creates has no ARN yet, so a placeholder
 * (`placeholder('lb')`) stands for its ARN or id. The executor replaces it.
 */
export type Action = { readonly [O in WriteOperation]: ActionOf<O> }[WriteOperation];

export interface ActionOf<O extends WriteOperation> {
  /** Unique in its plan and stable between reconciles: "listener 443: create". */
  readonly id: string;
  readonly operation: O;
  readonly input: Input<O>;
  /** The reason as text for users: "no listener on port 443 yet". */
  readonly reason: string;
  /** Ids of earlier actions that must succeed before this one is tried. */
  readonly needs: readonly string[];
  /** It is tried only when AWS has refused all of these earlier actions, for one of these reasons. */
  readonly instead?: { readonly of: readonly string[]; readonly codes: readonly AwsErrorCode[] };
  /** The name of the placeholder for the created ARN or id: "lb", "tg 80/TCP". */
  readonly creates?: string;
  /** Calls that run at once, in order, if this action fails. They restore what an earlier action removed. */
  readonly otherwise?: readonly Remedy[];
  /** True if AWS does not show the setting that the action writes. Then it is written once. */
  readonly isUnverifiable?: true;
  /** True if other resources may still refer to this one for a while. That error is then no failure, and the next reconcile tries again. */
  readonly mayBeInUse?: true;
}

type Remedy = { readonly [O in WriteOperation]: { readonly operation: O; readonly input: Input<O> } }[WriteOperation];

/** An event outside of Herald that the plan waits for. */
export interface Wait {
  readonly for: string;
  readonly seconds: number;
}

export interface Plan {
  /** In order of execution. */
  readonly actions: readonly Action[];
  readonly waits: readonly Wait[];
}

const mark = '\u27e8new ';

export function placeholder(created: string): string {
  return `${mark}${created}\u27e9`;
}

/** Returns the name in a placeholder, or undefined for any other text. */
export function placeholderName(text: string): string | undefined {
  return text.startsWith(mark) && text.endsWith('\u27e9') ? text.slice(mark.length, -1) : undefined;
}
