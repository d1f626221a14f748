import { UsageError } from './environment.ts';

/** Of an object that there is none of: names those there are. */
export function unknownName(kind: string, name: string, known: Iterable<string>): UsageError {
  const names = [...known].toSorted();
  const shown = names.slice(0, 20).join(', ');
  return new UsageError(
    `there is no valid ${kind} ${name}: there ${names.length === 0 ? 'are none' : `are ${shown}${names.length > 20 ? ', ...' : ''}`}`,
    1,
  );
}
