import { describe, expect, test } from 'vitest';
import { AwsError } from '../../../providers/aws/cloud/error.ts';
import { AwsProvider } from '../../../providers/aws/provider.ts';
import { providerChecks, type ProviderSubject } from '../../../src/controller/provider-testing/index.ts';
import { FakeCloud } from '../../../providers/aws/test/moto/fake/cloud.ts';
import { populate } from '../../../providers/aws/test/moto/fake/world.ts';
import { pools, service } from './pools-subject.ts';
import { settings } from '../../../providers/aws/test/support/stack-fixture.ts';

/** Herald's own providers pass the checks that other providers must pass. */

const cloud: ProviderSubject = {
  parts: ['Recovery', 'ResourceHolder', 'ChangeListener', 'PeriodicWork', 'OrderedWork', 'Previewable'],
  service: service('herald.dev/aws'),
  objects: [0, 1].map((index) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `node-${index}` },
    spec: { providerID: `aws:///us-east-1a/i-0000000${index}` },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  })),
  world(clock) {
    const fake = new FakeCloud();
    populate(fake.world);
    // The fake account follows the virtual clock of the checks.
    let last = clock.now();
    const catchUp = (): void => {
      fake.world.clock.advance(clock.now() - last);
      last = clock.now();
    };
    let fails = false;
    return {
      createProvider: ({ clock, random, log, serviceMetadata }) =>
        new AwsProvider({
          classless: 'off',
          connect: () =>
            Promise.resolve({
              cloud: {
                call: async (operation, input) => {
                  catchUp();
                  if (fails) throw new AwsError({ code: 'unreachable', operation, awsCode: '', message: 'nobody there', requestId: '' });
                  return fake.call(operation, input);
                },
              },
              settings: { ...settings, retireSeconds: 60 },
            }),
          ...(serviceMetadata === undefined ? {} : { metadata: serviceMetadata('herald.dev/aws') }),
          clock,
          random,
          log,
        }),
      resources: () => [...fake.world.loadBalancers.keys(), ...fake.world.targetGroups.keys()],
      fail: () => {
        fails = true;
        return () => void (fails = false);
      },
    };
  },
};

describe.each([
  { name: 'pools', subject: pools, count: 15 },
  { name: 'AWS', subject: cloud, count: 18 },
])('the provider of $name', ({ subject, count }) => {
  const checks = providerChecks(subject);
  test.each(checks.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => {
    await expect(run()).resolves.toBeUndefined();
  });
  test('all checks that apply to the provider are made', () => {
    expect(checks).toHaveLength(count);
  });
});
