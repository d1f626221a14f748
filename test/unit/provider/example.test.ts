import { describe, expect, test } from 'vitest';
import { exampleSubject } from '../../../examples/provider/subject.ts';
import { providerChecks } from '../../../src/controller/provider-testing/index.ts';

describe('the example of a provider', () => {
  const checks = providerChecks(exampleSubject());
  test.each(checks.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => {
    await expect(run()).resolves.toBeUndefined();
  });
  test('all checks that apply to the example are made', () => {
    expect(checks).toHaveLength(17);
  });
});
