import { allocationCases } from './cases/allocation.ts';
import { announcementCases } from './cases/announcement.ts';
import { nodeCases } from './cases/nodes.ts';
import { sessionCases } from './cases/sessions.ts';
import type { Misconfiguration } from './misconfiguration.ts';
import { healthy, type Manifest } from './objects.ts';
import { placeOf, type Place } from './place.ts';

export interface PlacedCase {
  readonly one: Misconfiguration;
  readonly place: Place;
}

/** Returns the manifests of a case before its mistake. */
export const manifestsBefore = ({ one, place }: PlacedCase): readonly Manifest[] => (one.before ?? healthy)(place);

/** Every case with its place in the lab, in the order of the table in docs/reference/diagnosis.md. */
export const allCases: readonly PlacedCase[] = [...sessionCases, ...allocationCases, ...announcementCases, ...nodeCases].map(
  (one, index) => ({
    one,
    place: placeOf(one.name, index + 1),
  }),
);
