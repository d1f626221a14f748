import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ClusterBed } from './cluster-bed.ts';
import { follow } from './follow.ts';
import { startHomeLab } from './home-lab-bed.ts';
import { pagesOf } from './pages.ts';

let bed: ClusterBed;

beforeEach(async () => {
  bed = await startHomeLab();
});

afterEach(async () => {
  await bed?.stop();
});

test.each(pagesOf('homeLab'))('%s', async (page) => {
  expect(await follow(page, bed)).toBeGreaterThan(0);
});
