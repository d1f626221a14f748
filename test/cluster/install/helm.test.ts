import { afterAll, beforeAll, describe } from 'vitest';
import { Bed } from './bed.ts';
import { testFaults } from './faults.ts';
import { testFirstInstallation } from './first-installation.ts';
import { testL2 } from './l2.ts';
import { helm } from './methods.ts';
import { testPlannedWork } from './planned.ts';
import { testRemoval } from './removal.ts';
import { testRollouts } from './rollouts.ts';

/** Herald as its chart installs it, without kube-proxy, in a cluster with both families. */
let bed: Bed;

beforeAll(async () => {
  bed = await Bed.start(helm);
});

afterAll(() => bed?.remove());

describe('the installation', () => {
  testFirstInstallation(() => bed);
});
describe('rollouts', () => {
  testRollouts(() => bed);
});
describe('planned work', () => {
  testPlannedWork(() => bed);
});
describe('faults', () => {
  testFaults(() => bed);
});
describe('ARP and NDP', () => {
  testL2(() => bed);
});
describe('removal', () => {
  testRemoval(() => bed);
});
