import { expect, test } from 'vitest';
import { fetchAllPages } from '../../../../src/cli/live/live-client.ts';

const process = { command: 'agent', version: '0', started: '2026-01-01T00:00:00Z' };

test('fetchAllPages returns all pages of a list, up to a maximum of items', async () => {
  const asked: (string | undefined)[] = [];
  const ask = async (_: string, { after }: Readonly<Record<string, string>>): Promise<object> => {
    asked.push(after);
    const from = Number(after ?? 0);
    return { process, items: [from, from + 1], ...(from < 8 ? { next: String(from + 2) } : {}) };
  };
  expect(await fetchAllPages({ ask }, '/x', {}, 100)).toEqual({ process, items: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], more: false });
  expect(asked).toEqual([undefined, '2', '4', '6', '8']);
  expect(await fetchAllPages({ ask }, '/x', {}, 4)).toEqual({ process, items: [0, 1, 2, 3], more: true });
});

test('fetchAllPages ends when a process sends empty pages that promise more', async () => {
  let asked = 0;
  const ask = async (): Promise<object> => {
    asked += 1;
    if (asked > 10) throw new Error('asked for ever');
    return { process, items: [], next: String(asked) };
  };
  expect(await fetchAllPages({ ask }, '/x', {}, 100)).toEqual({ process, items: [], more: false });
});

test('fetchAllPages ends when a process repeats a page', async () => {
  const ask = async (): Promise<object> => ({ process, items: [1], next: 'same' });
  expect(await fetchAllPages({ ask }, '/x', {}, 100)).toEqual({ process, items: [1, 1], more: false });
});
