import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { SourceProblem } from '../../sources/source.ts';
import { configurationObject, isConfigurationKind, objectKeyOf, type ObjectKey } from './configuration-objects.ts';

/** A configuration object whose current version the source refuses. An earlier version may still be in force. */
export interface Unreadable {
  readonly reason: Reason;
  /** Of the refused version. "" and undefined when the source does not report them. */
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number | undefined;
}

/** Returns the first error of each configuration object. */
export function unreadableObjects(problems: readonly SourceProblem[], snapshot: Snapshot): ReadonlyMap<ObjectKey, Unreadable> {
  const found = new Map<ObjectKey, Unreadable>();
  const errors = problems.filter(({ severity }) => severity === 'error');
  const named = errors.flatMap((problem) => [problem.object ?? '', ...(problem.keeps ?? [])].map((object) => ({ ...problem, object })));
  for (const { object, about, field = '', message, fix } of named) {
    const [kind = '', name = '', ...further] = object.split('/');
    if (!isConfigurationKind(kind) || name === '' || further.length > 0) continue;
    const key = objectKeyOf(kind, name);
    if (found.has(key)) continue;
    const inForce = configurationObject(snapshot, key) !== undefined;
    found.set(key, {
      reason: reason('ObjectUnreadable', { field, problem: message, remedy: fix, inForce }),
      uid: about?.uid ?? '',
      resourceVersion: about?.resourceVersion ?? '',
      generation: about?.generation,
    });
  }
  return found;
}
