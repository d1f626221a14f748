import { isRecord } from '../../lang/is-record.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Returns how the elements of a list are identified. Undefined when the list is one value. */
export type KeyOf = (path: string) => ((element: Fields) => string) | undefined;

/**
 * Merges as `kubectl apply` does: a manifest's field wins; a field of the last applied manifest that is missing now is removed; every other
 * field stays. Lists are one value unless `keyOf` identifies their elements.
 */
export function threeWayMerge(last: Fields, manifest: Fields, live: Fields, keyOf: KeyOf, path = ''): Record<string, unknown> {
  const merged: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(live), ...Object.keys(manifest)])) {
    const inner = path === '' ? name : `${path}.${name}`;
    const wanted = manifest[name];
    if (!Object.hasOwn(manifest, name)) {
      if (!Object.hasOwn(last, name)) merged[name] = live[name];
    } else if (wanted !== null) merged[name] = mergeValue(last[name], wanted, live[name], keyOf, inner);
  }
  return merged;
}

function mergeValue(last: unknown, wanted: unknown, live: unknown, keyOf: KeyOf, path: string): unknown {
  if (isRecord(wanted) && isRecord(live)) return threeWayMerge(isRecord(last) ? last : {}, wanted, live, keyOf, path);
  const key = keyOf(path);
  if (key === undefined || !Array.isArray(wanted) || !Array.isArray(live)) return wanted;
  return wanted.map((element: unknown) => {
    if (!isRecord(element)) return element;
    const same = (other: unknown): boolean => isRecord(other) && key(other) === key(element);
    const before: unknown = live.find(same);
    const applied: unknown = Array.isArray(last) ? last.find(same) : undefined;
    return mergeValue(applied, element, before ?? {}, keyOf, `${path}[]`);
  });
}
