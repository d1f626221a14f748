import { expect, test } from 'vitest';
import { listChangedRules, readIptablesGeneration } from '../../../../src/dataplane/host/ruleset-generation.ts';

function bed() {
  const state = { generation: 7 as number | undefined, lists: 0, fails: false };
  const list = listChangedRules(
    () => {
      state.lists++;
      return state.fails ? Promise.reject(new Error('nft fails')) : Promise.resolve([state.lists]);
    },
    () => Promise.resolve(state.generation),
  );
  return { state, list };
}

test('rules are listed again only after a transaction', async () => {
  const { state, list } = bed();
  const first = await list();
  expect(await list()).toBe(first);
  expect(state.lists).toBe(1);
  state.generation = 8;
  expect(await list()).toEqual([2]);
});

test('rules are listed each time while the generation is unknown', async () => {
  const { state, list } = bed();
  await list();
  state.generation = undefined;
  await list();
  await list();
  expect(state.lists).toBe(3);
  // The result of generation 7 is not repeated: rules may have changed unseen since.
  state.generation = 7;
  await list();
  expect(state.lists).toBe(4);
});

test('a list that failed is not repeated from memory', async () => {
  const { state, list } = bed();
  await list();
  [state.generation, state.fails] = [8, true];
  await expect(list()).rejects.toThrow('nft fails');
  state.fails = false;
  expect(await list()).toEqual([3]);
});

test('the generation of filters is unknown while a legacy table filters', async () => {
  const asked: string[] = [];
  const tables = (family: 'ip' | 'ip6') => {
    asked.push(family);
    return Promise.resolve(family === 'ip6' ? ['filter'] : ['nat']);
  };
  const generation = () => Promise.resolve(7);
  expect(await readIptablesGeneration({ legacyTables: tables, tables: ['filter'], generation })).toBeUndefined();
  expect(asked).toEqual(['ip', 'ip6']);
  expect(await readIptablesGeneration({ legacyTables: tables, tables: ['mangle'], generation })).toBe(7);
});
