import { sleep, systemClock } from '../../../../src/system/clock.ts';
import { motoCloud } from '../../test/moto/moto-cloud.ts';
import type { Contender } from '../contenders/contender.ts';
import type { Stage } from '../stage.ts';
import { differences, printDifferences } from './differences.ts';
import { formsToCompare } from './forms.ts';
import { readMade, type Made } from './made.ts';

/** The account is read when it has not changed for so many seconds. */
const quietSeconds = 5;

/** Lets both controllers serve the same Services, and prints what they made differently. Resolves to true if all differences are known. */
export async function compare(stage: Stage, [herald, other]: readonly [Contender, Contender], limitSeconds: number): Promise<boolean> {
  const services = await namesOf(stage);
  const made = [await make(stage, herald, limitSeconds), await make(stage, other, limitSeconds)] as const;
  const found = differences(services, ...made);
  printDifferences(found, services.length, other.name);
  return found.every(({ reason }) => reason !== undefined);
}

async function namesOf(stage: Stage): Promise<string[]> {
  await stage.reset();
  return formsToCompare(stage.account).map(({ name }) => name);
}

async function make(stage: Stage, contender: Contender, limitSeconds: number): Promise<Made> {
  await stage.reset();
  await using cleanup = new AsyncDisposableStack();
  const controller = await contender.start(stage.surroundings);
  cleanup.defer(async () => void (await controller.stop()));
  stage.requests.restart(undefined);
  const forms = formsToCompare(stage.account);
  await stage.create(forms);
  const began = performance.now();
  let quiet = 0;
  while (quiet < quietSeconds && performance.now() - began < limitSeconds * 1000) {
    await sleep(systemClock, 1000);
    const isServed = (await stage.published()).length === forms.length;
    quiet = isServed && !hasWrites(stage) ? quiet + 1 : 0;
  }
  return readMade(motoCloud(stage.moto), stage.account, contender.serviceTag);
}

function hasWrites(stage: Stage): boolean {
  return Object.keys(stage.requests.take().byAction).some((action) => !/ (?:Describe|List|Get)/.test(action));
}
