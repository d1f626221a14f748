import { firstUnknownName } from '../../lang/closest-name.ts';

/** An option that does not exist, such as a misspelt one. Nothing was changed. */
export class UnknownOptionError extends Error {
  readonly code = 'ERR_BGP_UNKNOWN_OPTION';
  /** Path of the option: "holdTimer", "gracefulRestart.time", "listen.adress". */
  readonly option: string;
  /** The known option with the most similar name. Absent: none is similar. */
  readonly nearest?: string;

  constructor(owner: 'speaker' | 'peer' | 'peer group', option: string, nearest: string | undefined) {
    super(`${option}: a ${owner} has no such option${nearest === undefined ? '' : `, did you mean ${nearest}?`}`);
    this.name = 'UnknownOptionError';
    this.option = option;
    if (nearest !== undefined) this.nearest = nearest;
  }
}

/** The names of all options of an object type, as the keys of an object, so that the compiler finds a missing one. */
export type OptionNames<T> = { readonly [Option in keyof Required<T>]: unknown };

/** Throws UnknownOptionError for the first key that is no option. `within`: the path of the option that contains them. */
export function refuseUnknownOptions<T extends object>(
  owner: 'speaker' | 'peer' | 'peer group',
  given: T,
  known: OptionNames<T>,
  within = '',
): void {
  const unknown = firstUnknownName(Object.keys(given), Object.keys(known));
  if (unknown === undefined) return;
  const { name, nearest } = unknown;
  throw new UnknownOptionError(owner, `${within}${name}`, nearest === undefined ? undefined : `${within}${nearest}`);
}
