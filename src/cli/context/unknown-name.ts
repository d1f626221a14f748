import type { ServiceKey } from '../../model/objects/metadata.ts';
import { UsageError } from './command-context.ts';

/** Of an object that there is none of: names those there are. */
export function unknownName(kind: string, name: string, known: Iterable<string>): UsageError {
  return new UsageError(`there is no valid ${kind} ${name}${thereAre([...known].toSorted()) || ': there are none'}`, 1);
}

/** Of a Service that there is none of: those in its namespace, else those of its name in others. */
export function servicesLike(key: ServiceKey, known: Iterable<ServiceKey>): readonly ServiceKey[] {
  const [namespace = '', name = ''] = key.split('/');
  const all = [...known].toSorted();
  const near = all.filter((one) => one.startsWith(`${namespace}/`));
  return near.length > 0 ? near : all.filter((one) => one.endsWith(`/${name}`));
}

/** The end of a message about a name that is none; empty where there are no others. */
export function thereAre(names: readonly string[]): string {
  if (names.length === 0) return '';
  return `: there ${names.length === 1 ? 'is' : 'are'} ${names.slice(0, 20).join(', ')}${names.length > 20 ? ', ...' : ''}`;
}
