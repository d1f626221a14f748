import { describe, expect, test } from 'vitest';
import { ScenarioFixture } from '../moto/scenarios/scenario-fixture.ts';
import { fakeBackend } from '../moto/scenarios/fake-backend.ts';
import { scenarios } from '../moto/scenarios/scenarios.ts';

describe('on the strict fake', () => {
  test.each(scenarios.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => {
    expect.hasAssertions();
    await run(new ScenarioFixture(fakeBackend()));
  });
});
