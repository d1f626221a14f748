import { beforeEach, expect, test } from 'vitest';
import { Echoes } from '../../../../src/controller/queue/echoes.ts';

let own: Set<string>;
let requeued: string[];
let echoes: Echoes<string>;

beforeEach(() => {
  own = new Set();
  requeued = [];
  echoes = new Echoes(
    (key) => own.has(key),
    (key, when) => void requeued.push(`${key} ${when}`),
  );
});

test('a change by another program is worked on soon, and an echo last', () => {
  own.add('a');
  echoes.changed('a');
  echoes.changed('b');
  expect(requeued).toEqual(['a last', 'b soon']);
});

test('an echo that comes before the answer to the write is told apart when the work has ended', async () => {
  await echoes.during('a', async () => {
    echoes.changed('a');
    await Promise.resolve();
    own.add('a');
    expect(requeued).toEqual([]);
  });
  expect(requeued).toEqual(['a last']);
});

test('a change by another program during work is worked on soon, also when the work fails', async () => {
  const failed = echoes.during('a', async () => {
    echoes.changed('a');
    echoes.changed('b');
    throw new Error('conflict');
  });
  await expect(failed).rejects.toThrow('conflict');
  expect(requeued).toEqual(['b soon', 'a soon']);
});

test('work during which nothing is reported requeues nothing', async () => {
  own.add('a');
  await echoes.during('a', async () => undefined);
  expect(requeued).toEqual([]);
});
