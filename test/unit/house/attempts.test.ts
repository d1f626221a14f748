import { expect, test } from 'vitest';
import { Attempts } from '../../bench/runner/attempts.ts';

test('a row of a peer that fails leaves the other rows and the exit status', async () => {
  const notes: string[] = [];
  const attempts = new Attempts((text) => notes.push(text));
  const rows = [
    await attempts.row('kube-proxy, 1000 Services', () => Promise.reject(new Error('connect ECONNREFUSED 203.0.113.80:80\nmore'))),
    await attempts.row('Herald, 1000 Services', () => 7),
  ];
  expect(rows).toEqual([undefined, 7]);
  expect(attempts.lines()).toEqual(['Not measured: kube-proxy, 1000 Services: connect ECONNREFUSED 203.0.113.80:80']);
  expect(attempts.status).toBe(0);
  expect(notes).toHaveLength(1);
});

test("a row of Herald's own that fails makes the bench fail", async () => {
  const attempts = new Attempts(() => undefined);
  await attempts.row('Herald, 1000 Services', () => {
    throw new Error('no commit within 300000 ms');
  });
  expect(attempts.failed).toEqual([{ row: 'Herald, 1000 Services', error: 'no commit within 300000 ms' }]);
  expect(attempts.status).toBe(1);
});
