import { isRecord } from '../../lang/is-record.ts';

type Fields = Readonly<Record<string, unknown>>;

/** How the elements of a list are told apart; undefined: the list is one value. */
export type KeyOf = (path: string) => ((element: Fields) => string) | undefined;

/**
 * What `kubectl apply` makes of an object: a field of the manifest counts; one that the manifest had when it was applied last, and has no more, goes;
 * any other stays as it is. Lists are one value, unless `keyOf` says how their elements are told apart.
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
