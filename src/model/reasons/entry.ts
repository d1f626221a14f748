/** One entry of the catalogue of reasons. `Details` is plain data: names and numbers, never objects. */
export interface ReasonEntry<Details> {
  readonly brief: string;
  readonly says: (details: Details) => string;
  /**
   * What a condition says in the place of `brief`, where one code stands for mistakes of many kinds. There is nothing in it that changes unless
   * somebody changes something (no counts, no ids of requests), for another text is written, and told by another Event.
   */
  readonly lasting?: (details: Details) => string;
  readonly fix: (details: Details) => string;
}

/** Gives an entry its type: the shape of its details comes from the parameter of `says`. */
export const reasonEntry = <Details>(value: ReasonEntry<Details>): ReasonEntry<Details> => value;

/** A mistake of whoever wrote the object: the sentence has nothing in it but what is written. */
export const userMistake = <Details>(value: Omit<ReasonEntry<Details>, 'lasting'>): ReasonEntry<Details> => ({
  ...value,
  lasting: value.says,
});
