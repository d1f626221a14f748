import { afterAll, beforeAll, describe } from 'vitest';
import { Bed } from './bed.ts';
import { testFirstInstallation } from './first-installation.ts';
import { kustomize } from './methods.ts';
import { testRemoval } from './removal.ts';
import { testRollouts } from './rollouts.ts';

/** Herald as its overlay without-kube-proxy installs it, in a cluster of IPv6. */
let bed: Bed;

beforeAll(async () => {
  bed = await Bed.start(kustomize, 'ipv6');
});

afterAll(() => bed?.remove());

describe('the installation', () => {
  testFirstInstallation(() => bed);
});
describe('rollouts', () => {
  testRollouts(() => bed);
});
describe('removal', () => {
  testRemoval(() => bed);
});
