import type { Parts } from './case-files.ts';

/** Parts whose entries must all be as expected. Of other parts only the named entries are compared. */
const complete = new Set(['attributes', 'tags', 'listeners', 'targetGroups', 'ownTags']);

const isParts = (value: unknown): value is Parts => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reduces an outcome to the parts that a case names. */
export function named(actual: Parts, expected: Parts, isComplete = false): Parts {
  const keys = isComplete ? [...new Set([...Object.keys(expected), ...Object.keys(actual)])] : Object.keys(expected);
  return Object.fromEntries(
    keys.flatMap((key) => {
      if (!(key in actual)) return [];
      const [own, other] = [actual[key], expected[key]];
      return [[key, isParts(own) && isParts(other) ? named(own, other, complete.has(key)) : own]];
    }),
  );
}

/** Replaces parts of the expectation by what Herald has instead. A refused Service has no other parts. */
export function replaceParts(expected: Parts, instead: Parts): Parts {
  if ('refused' in instead || 'refused' in expected) return instead;
  const result: Record<string, unknown> = { ...expected };
  for (const [key, value] of Object.entries(instead)) {
    const before = expected[key];
    if (value === null) delete result[key];
    else result[key] = isParts(before) && isParts(value) && Object.keys(value).length > 0 ? replaceParts(before, value) : value;
  }
  return result;
}
