import { describe, expect, test } from 'vitest';
import { Bench } from '../../../aws/scenarios/bench.ts';
import { fakePlace } from '../../../aws/scenarios/fake-place.ts';
import { scenarios } from '../../../aws/scenarios/scenarios.ts';

describe('on the strict fake', () => {
  test.each(scenarios.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => {
    expect.hasAssertions();
    await run(new Bench(fakePlace()));
  });
});
