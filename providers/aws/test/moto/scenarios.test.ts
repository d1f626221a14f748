import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installedVersion, Moto } from './moto.ts';
import { ScenarioFixture } from './scenarios/scenario-fixture.ts';
import { differences } from './scenarios/moto-differences.ts';
import { motoBackend } from './scenarios/moto-backend.ts';
import { scenarios } from './scenarios/scenarios.ts';

let moto: Moto;
beforeAll(async () => {
  moto = await Moto.start();
});
afterAll(() => moto.stop());

const present = differences.filter(({ versions }) => versions.includes(installedVersion()));
const differing = new Set(present.map(({ scenario }) => scenario));

describe('scenarios on moto, over HTTP', () => {
  test.each(scenarios.filter(({ name }) => !differing.has(name)).map(({ name, run }) => [name, run] as const))('%s', async (_, run) => {
    expect.hasAssertions();
    await run(new ScenarioFixture(await motoBackend(moto)));
  });
});

describe('differences between moto and AWS', () => {
  test.each(present.map((difference) => [difference.what, difference] as const))('%s', async (_, { scenario, shows }) => {
    const { run } = scenarios.find(({ name }) => name === scenario) ?? expect.unreachable(`there is no scenario "${scenario}"`);
    // As many reconciles as such a change takes on AWS, and a few more.
    await expect(run(new ScenarioFixture(await motoBackend(moto), 8))).rejects.toThrow(shows);
  });
});
