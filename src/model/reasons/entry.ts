/** One entry of the catalogue of reasons. `Details` is plain data: names and numbers, never objects. */
export interface ReasonEntry<Details> {
  readonly brief: string;
  readonly says: (details: Details) => string;
  /**
   * Condition text used instead of `brief`, for a code that covers many kinds of mistakes. It must not contain anything that changes by
   * itself (counts, request ids), because every new text is written to the object and causes another Event.
   */
  readonly lasting?: (details: Details) => string;
  readonly fix: (details: Details) => string;
  /** The field of the Service that the fix changes. */
  readonly field?: string;
  /** The class of the Service gives it to another controller. */
  readonly givesAway?: true;
  /** With this reason the provider has not looked at the load balancer, so it may be as the Service asks. */
  readonly unseen?: (details: Details) => boolean;
  /** With this reason nobody answers clients, although the Service has the load balancer that it asks for. */
  readonly unserved?: (details: Details) => boolean;
  /** Clients may be answered now, but will not be for long unless the reason is mended. */
  readonly endangered?: true;
}

/** An entry whose details are not known here. */
export type AnyReasonEntry = ReasonEntry<never>;

export type ReasonTable = Readonly<Record<string, AnyReasonEntry>>;

/** Details of these names: `Texts<'peer' | 'prefix'> & Numbers<'limit'>`. */
export type Texts<Name extends string> = Readonly<Record<Name, string>>;
export type Numbers<Name extends string> = Readonly<Record<Name, number>>;

/** Types an entry: the parameter of `says` determines the type of its details. */
export const reasonEntry = <Details>(value: ReasonEntry<Details>): ReasonEntry<Details> => value;

/** An entry for a mistake in an object. Its sentence contains only what the object says, so it also serves as condition text. */
export const userMistake = <Details>(value: Omit<ReasonEntry<Details>, 'lasting'>): ReasonEntry<Details> => ({
  ...value,
  lasting: value.says,
});

/**
 * An entry whose sentence contains names, and nothing that changes by itself while the object waits, so it also serves as condition text.
 */
export const lastingReason = userMistake;
