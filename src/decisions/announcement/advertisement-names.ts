import type { Metadata } from '../../model/objects/metadata.ts';

/** A reason names no more advertisements than this. */
const mostNames = 3;

interface Advertisement {
  readonly kind: 'BGPAdvertisement' | 'L2Advertisement';
  readonly metadata: Metadata;
}

/** Returns "BGPAdvertisement a", "BGPAdvertisements a, b" or "BGPAdvertisements a, b, c and others", all of one kind. */
export function namesOf(advertisements: readonly Advertisement[]): string {
  const names = advertisements.map(({ metadata }) => metadata.name).toSorted();
  const others = names.length > mostNames ? ' and others' : '';
  return `${advertisements[0]?.kind ?? 'BGPAdvertisement'}${names.length === 1 ? '' : 's'} ${names.slice(0, mostNames).join(', ')}${others}`;
}
