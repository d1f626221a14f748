import { unshownLines } from '../../explain/unread-objects.ts';
import type { KindName } from '../../model/store/snapshot.ts';
import type { UnreadableKind } from '../../model/store/unreadable-kind.ts';
import { closestName } from '../../lang/closest-name.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { UsageError } from './command-context.ts';

/** Returns an error for an object that does not exist, with the names that do exist. */
export function unknownNameError(kind: string, name: string, known: Iterable<string>): UsageError {
  const names = [...known].toSorted();
  return new UsageError(`there is no valid ${kind} ${name}${suggestion(name, names)}${knownNamesText(names) || ': there are none'}`);
}

/** Throws UsageError when no object of the kind could be read, so that nobody knows whether there is one of this name. */
export function requireRead(kind: KindName, name: string, unread: readonly UnreadableKind[]): void {
  const why = unshownLines(unread, [kind]);
  if (why.length > 0) throw new UsageError([`whether ${kind} ${name} exists is not known`, ...why].join('\n  '));
}

/** Returns " (did you mean X?)" for the known name that is closest, or nothing when none is close. */
export function suggestion(name: string, known: Iterable<string>): string {
  const closest = closestName(name, known);
  return closest === undefined ? '' : ` (did you mean ${closest}?)`;
}

/** Returns the Services that a mistyped key may mean: those in its namespace, or else those with its name in other namespaces. */
export function similarServices(key: ServiceKey, known: Iterable<ServiceKey>): readonly ServiceKey[] {
  const [namespace = '', name = ''] = key.split('/');
  const all = [...known].toSorted();
  const near = all.filter((one) => one.startsWith(`${namespace}/`));
  return near.length > 0 ? near : all.filter((one) => one.endsWith(`/${name}`));
}

/** Returns the end of a message about an unknown name: the known names, at most 20. Empty when there are none. */
export function knownNamesText(names: readonly string[]): string {
  if (names.length === 0) return '';
  return `: there ${names.length === 1 ? 'is' : 'are'} ${names.slice(0, 20).join(', ')}${names.length > 20 ? ', ...' : ''}`;
}
