import type { ServiceKey } from '../../model/objects/metadata.ts';
import { UsageError } from './command-context.ts';

/** An error for an object that does not exist. It lists the names that do. */
export function unknownNameError(kind: string, name: string, known: Iterable<string>): UsageError {
  return new UsageError(`there is no valid ${kind} ${name}${knownNamesText([...known].toSorted()) || ': there are none'}`, 1);
}

/** Suggests Services for a key that does not exist: those in its namespace, else those with its name in other namespaces. */
export function similarServices(key: ServiceKey, known: Iterable<ServiceKey>): readonly ServiceKey[] {
  const [namespace = '', name = ''] = key.split('/');
  const all = [...known].toSorted();
  const near = all.filter((one) => one.startsWith(`${namespace}/`));
  return near.length > 0 ? near : all.filter((one) => one.endsWith(`/${name}`));
}

/** Ends a message about an unknown name with the known names. Empty when there are none. */
export function knownNamesText(names: readonly string[]): string {
  if (names.length === 0) return '';
  return `: there ${names.length === 1 ? 'is' : 'are'} ${names.slice(0, 20).join(', ')}${names.length > 20 ? ', ...' : ''}`;
}
