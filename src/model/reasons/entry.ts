/** One entry of the catalogue of reasons. `Details` is plain data: names and numbers, never objects. */
export interface ReasonEntry<Details> {
  readonly brief: string;
  readonly says: (details: Details) => string;
  readonly fix: (details: Details) => string;
}

/** Gives an entry its type: the shape of its details comes from the parameter of `says`. */
export const entry = <Details>(value: ReasonEntry<Details>): ReasonEntry<Details> => value;
