import type { Input, WriteOperation } from '../../cloud/operations.ts';

/**
 * One call to AWS that shall be made, and why. What an earlier action of the same plan creates is named by a placeholder
 * (`placeholder('lb')`) wherever AWS wants the ARN or id; the executor puts the real one in its place.
 */
export type Action = { readonly [O in WriteOperation]: ActionOf<O> }[WriteOperation];

export interface ActionOf<O extends WriteOperation> {
  /** Unique in its plan, stable between passes: "listener 443: create". */
  readonly id: string;
  readonly operation: O;
  readonly input: Input<O>;
  /** Why, for people: "no listener on port 443 yet". */
  readonly reason: string;
  /** Ids of earlier actions without whose success this one must not be tried. */
  readonly needs: readonly string[];
  /** What the created ARN or id stands for in later actions: "lb", "tg 80/TCP". */
  readonly creates?: string;
  /** Made at once where this one fails, in order: puts back what an earlier action has taken away for it. */
  readonly otherwise?: readonly Remedy[];
  /** What it is about may still be referenced for a while: that AWS says so is no failure, the next pass tries again. */
  readonly mayBeInUse?: true;
}

type Remedy = { readonly [O in WriteOperation]: { readonly operation: O; readonly input: Input<O> } }[WriteOperation];

/** Something that has to happen by itself before more can be done. */
export interface Wait {
  readonly for: string;
  readonly seconds: number;
}

export interface Plan {
  /** In the order in which they are to be made. */
  readonly actions: readonly Action[];
  readonly waits: readonly Wait[];
}

const mark = '\u27e8new ';

export function placeholder(created: string): string {
  return `${mark}${created}\u27e9`;
}

/** The name behind a placeholder; undefined for any other text. */
export function placeholderName(text: string): string | undefined {
  return text.startsWith(mark) && text.endsWith('\u27e9') ? text.slice(mark.length, -1) : undefined;
}
