import { describe, expect, test } from 'vitest';
import { ScenarioFixture } from '../../../aws/scenarios/scenario-fixture.ts';
import { fakeBackend } from '../../../aws/scenarios/fake-backend.ts';
import { scenarios } from '../../../aws/scenarios/scenarios.ts';

describe('on the strict fake', () => {
  test.each(scenarios.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => {
    expect.hasAssertions();
    await run(new ScenarioFixture(fakeBackend()));
  });
});
