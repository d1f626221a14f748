import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Protocol } from '../../src/net/frontend.ts';
import { anyScenario } from '../vectors/any-scenario.ts';
import { scenarios } from '../vectors/scenarios.ts';
import { PacketLab } from './dataplane/packet-lab.ts';

const protocols: readonly Protocol[] = ['TCP', 'UDP'];
let lab: PacketLab;

beforeAll(async () => {
  lab = await PacketLab.start();
});

afterAll(async () => {
  await lab?.stop();
});

describe.each(protocols)('the fate of packets, %s', (protocol) => {
  test.each(scenarios)('$name', async (scenario) => {
    expect(await lab.surprises(scenario, protocol)).toEqual([]);
  });

  test('the kernel treats packets of any scenario as the tracer predicts', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(anyScenario, async (scenario) => {
        expect(await lab.differences(scenario, protocol)).toEqual([]);
      }),
      { numRuns: 8, endOnFailure: true },
    );
  });
});
