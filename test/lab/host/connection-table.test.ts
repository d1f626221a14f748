import { afterAll, beforeAll, expect, test } from 'vitest';
import { emptyConnectionTable, fillConnectionTable } from '../connection-table.ts';
import { until } from '../until.ts';
import { labWithClientBackend, webUrls } from './client-backend.ts';
import { namespaceOf, type TwoNodes } from './two-nodes.ts';

const node = namespaceOf('node1');
let lab: TwoNodes;

beforeAll(async () => {
  lab = await labWithClientBackend();
  await lab.startAgent('node1');
});

afterAll(async () => {
  await lab?.stop();
});

const answers = async (milliseconds?: number): Promise<(number | undefined)[]> =>
  Promise.all(webUrls.map(async (url) => (await lab.get(url, milliseconds))?.status));
const isReported = async (note: (seen: unknown) => unknown): Promise<boolean> => {
  const { host } = await lab.report('node1');
  note(host);
  return host.some(({ code }) => code === 'ConntrackNearlyFull');
};

test('a connection table at 90 % is reported, before the kernel drops connections, until it has room', async () => {
  await until('requests are answered', async (note) => note(await answers()).every((status) => status === 200));
  await fillConnectionTable(node, 0.88);
  // The agent looks every 3 s.
  await new Promise((resolve) => setTimeout(resolve, 7_000));
  expect(await isReported(() => undefined)).toBe(false);
  await fillConnectionTable(node, 0.91);
  await until('the table is reported', isReported);
  expect(await answers()).toEqual([200, 200]);
  const explained = await lab.explain('shop/web');
  expect(explained).toMatch(
    /host: the kernel's table of connections reached 90 % of net\.netfilter\.nf_conntrack_max \(\d+\) and has not fallen below 80 %: when it is full, the kernel drops new connections\n +fix: run on the node: sysctl -w net\.netfilter\.nf_conntrack_max=\d+, and keep/,
  );
  await fillConnectionTable(node, 1.001);
  expect(await answers(2_000)).toEqual([undefined, undefined]);
  await emptyConnectionTable(node);
  await until('requests are answered again', async (note) => note(await answers()).every((status) => status === 200));
  await until('the table is no longer reported', async (note) => !(await isReported(note)));
});
