import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';

/**
 * The order in which a controller that starts looks at the Services: what holds an address first, as it must not lose it to one
 * that waits, then those that waited already, the longest first, then the others by age. Of those that say how old they are, it does
 * not depend on the order in which the source lists them, so that two controllers that start from the same objects come to the same
 * end; those of a directory, which do not, come as they were read, file by file.
 */
export function inOrderOfService({ services }: Snapshot, waitingSince: ReadonlyMap<ServiceKey, string>): ServiceKey[] {
  const rank = (key: ServiceKey): string => ((services.get(key)?.ingress.length ?? 0) > 0 ? ' ' : (waitingSince.get(key) ?? '~'));
  return sortedBy([...services.keys()], (key) => `${rank(key)} ${ageOf(key, services)}`);
}

/** Services of which a source tells at once: those that are gone first, as what they held is free for the others; then the oldest. */
export function inOrderOfCreation(keys: readonly ServiceKey[], { services }: Snapshot): ServiceKey[] {
  return sortedBy(keys, (key) => (services.has(key) ? `1 ${ageOf(key, services)}` : `0 ${key}`));
}

/** RFC 3339 in UTC sorts as text. Who does not say how old he is counts as young. */
function ageOf(key: ServiceKey, services: Snapshot['services']): string {
  const created = services.get(key)?.metadata.creationTimestamp ?? '';
  return created === '' ? '~' : `${created} ${key}`;
}

function sortedBy(keys: readonly ServiceKey[], textOf: (key: ServiceKey) => string): ServiceKey[] {
  const texts = new Map(keys.map((key) => [key, textOf(key)]));
  const compare = (a = '', b = ''): number => (a === b ? 0 : a < b ? -1 : 1);
  return keys.toSorted((a, b) => compare(texts.get(a), texts.get(b)));
}
