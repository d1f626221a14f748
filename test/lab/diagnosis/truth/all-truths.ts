import process from 'node:process';
import { placeOf, type Place } from '../place.ts';
import { filterTruths } from './filters.ts';
import { frontendTruths } from './frontends.ts';
import { podTruths } from './pods.ts';
import { routerTruths } from './routers.ts';
import type { TruthCase } from './truth-case.ts';
import { wayBackTruths } from './way-back.ts';
import { wayTruths } from './ways.ts';

export interface PlacedTruth {
  readonly one: TruthCase;
  readonly place: Place;
}

/** Every case with its place in the lab of truth.test.ts. */
export const allTruths: readonly PlacedTruth[] = [
  ...placed(podTruths, 1),
  ...placed(wayTruths, 20),
  ...placed(wayBackTruths, 39),
  ...placed(frontendTruths, 40),
  ...placed(routerTruths, 50),
  ...placed(filterTruths, 60),
];

/** Those that the test makes: all of them with TIER=full. */
export const chosenTruths = allTruths.filter(({ one }) => process.env['TIER'] === 'full' || one.isFull !== true);

function placed(cases: readonly TruthCase[], first: number): PlacedTruth[] {
  return cases.map((one, position) => ({ one, place: placeOf(one.name, first + position) }));
}
