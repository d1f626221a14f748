import { allocationCases } from './cases/allocation.ts';
import { aloneCases } from './cases/alone.ts';
import { announcementCases } from './cases/announcement.ts';
import { checkCases } from './cases/checks.ts';
import { configurationProblems } from './cases/configuration.ts';
import { hostProblems } from './cases/hosts.ts';
import { negotiationCases, sessionProblems } from './cases/negotiation.ts';
import { nodeCases } from './cases/nodes.ts';
import { serviceCases } from './cases/services.ts';
import { sessionCases } from './cases/sessions.ts';
import type { Misconfiguration, Mistake, ReportedProblem } from './misconfiguration.ts';
import { healthy, type Manifest } from './objects.ts';
import { placeOf, type Place } from './place.ts';

interface Placed<Case> {
  readonly one: Case;
  readonly place: Place;
}

export type PlacedCase = Placed<Misconfiguration>;
export type PlacedProblem = Placed<ReportedProblem>;

/** Returns the manifests of a case before its mistake. */
export const manifestsBefore = ({ one, place }: Placed<Pick<Mistake, 'before'>>): readonly Manifest[] => (one.before ?? healthy)(place);

/** Every case with its place in the lab, in the order of the table in docs/reference/diagnosis.md. */
export const allCases: readonly PlacedCase[] = [
  ...placed([...sessionCases, ...allocationCases, ...announcementCases, ...nodeCases], 1),
  ...placed(negotiationCases, 61),
  ...placed(serviceCases, 101),
  ...placed(checkCases, 121),
];

/** Every mistake in another object than a Service, in the order of its table. */
export const allProblems: readonly PlacedProblem[] = [
  ...placed(sessionProblems, 69),
  ...placed(configurationProblems, 151),
  ...placed(hostProblems, 181),
];

/** Every mistake that concerns all Services, in the order of its table. */
export const aloneMistakes: readonly PlacedCase[] = placed(aloneCases, 211);

/** Groups begin at numbers far apart, so that a new case leaves the addresses of other groups as they are. */
function placed<Case extends { readonly name: string }>(cases: readonly Case[], first: number): Placed<Case>[] {
  return cases.map((one, position) => ({ one, place: placeOf(one.name, first + position) }));
}
