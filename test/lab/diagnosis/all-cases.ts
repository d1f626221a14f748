import { allocationCases } from './cases/allocation.ts';
import { announcementCases } from './cases/announcement.ts';
import { nodeCases } from './cases/nodes.ts';
import { serviceCases } from './cases/services.ts';
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
export const allCases: readonly PlacedCase[] = [
  ...placed([...sessionCases, ...allocationCases, ...announcementCases, ...nodeCases], 1),
  ...placed(serviceCases, 101),
];

/** Groups begin at numbers far apart, so that a new case leaves the addresses of other groups as they are. */
function placed(cases: readonly Misconfiguration[], first: number): PlacedCase[] {
  return cases.map((one, position) => ({ one, place: placeOf(one.name, first + position) }));
}
