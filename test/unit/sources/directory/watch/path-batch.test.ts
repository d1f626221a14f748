import { expect, test } from 'vitest';
import { PathBatch } from '../../../../../src/sources/directory/watch/path-batch.ts';
import { VirtualClock } from '../../../../../src/system/virtual-clock.ts';

test('a batch waits until folders are listed, and then has all their files', async () => {
  const clock = new VirtualClock();
  const batches: string[][] = [];
  const listing = Promise.withResolvers<void>();
  let isListing = false;
  const batch = new PathBatch(
    clock,
    async (paths) => void batches.push([...paths]),
    () => (isListing ? listing.promise : Promise.resolve()),
  );
  await batch.begin();
  isListing = true;
  batch.add('a/old.yaml');
  clock.advance(10_000);
  batch.add('z/new.yaml');
  clock.advance(10_000);
  expect(batches).toEqual([[]]);
  listing.resolve();
  await expect.poll(() => batches).toEqual([[], ['a/old.yaml', 'z/new.yaml']]);
  isListing = false;
  batch.add('z/later.yaml');
  clock.advance(10_000);
  await expect.poll(() => batches.at(-1)).toEqual(['z/later.yaml']);
});
