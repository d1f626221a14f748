import type { BGPAdvertisement } from '../../model/kinds/types.ts';

/** A reason names no more BGPAdvertisements than this. */
const mostNames = 3;

/** Returns "BGPAdvertisement a", "BGPAdvertisements a, b" or "BGPAdvertisements a, b, c and others". */
export function namesOf(advertisements: readonly Pick<BGPAdvertisement, 'metadata'>[]): string {
  const names = advertisements.map(({ metadata }) => metadata.name).toSorted();
  const others = names.length > mostNames ? ' and others' : '';
  return `BGPAdvertisement${names.length === 1 ? '' : 's'} ${names.slice(0, mostNames).join(', ')}${others}`;
}
