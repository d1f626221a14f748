import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { count, probed, ProbeStage } from './probe-stage.ts';

let stage: ProbeStage;

beforeAll(async () => {
  stage = await ProbeStage.start();
});

afterAll(async () => {
  await stage?.stop();
});

describe.each(['ipv4', 'ipv6'] as const)('while 16 addresses keep 4,096 connections by %s', (family) => {
  test.each(probed)('%s at port %d is answered to the node itself and to others', async (_, port, path) => {
    // The time has no bound here, as it depends on what else the machine does: `npm run bench:probes` has one.
    const { own, foreign, ended } = await stage.flood(family, port, path);
    expect(own).toMatchObject({ answers: count, failures: [] });
    expect(foreign).toMatchObject({ answers: count, failures: [] });
    expect(ended).toBeGreaterThan(0);
  });
});
