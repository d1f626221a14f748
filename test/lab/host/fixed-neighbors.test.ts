import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reasonText, remedyText, type Reason } from '../../../src/model/reasons.ts';
import { until } from '../until.ts';
import { connect, endpoints, families, pod, podBehindNode } from './pod-behind-node.ts';
import { nodeAddresses, type Report, type TwoNodes } from './two-nodes.ts';

/** Entries of the table of neighbours that the kernel does not check. */
let lab: TwoNodes;

/** The repair shows within this time, in milliseconds. */
const repairMilliseconds = 15_000;
const wrong = '02:00:00:00:00:99';
const router = { 4: nodeAddresses.node1[4].replace(/1$/, '2'), 6: nodeAddresses.node1[6].replace(/1$/, '2') } as const;

beforeAll(async () => {
  lab = await podBehindNode();
  await lab.startAgent('node1');
  await until('both families are answered', async (note) => {
    const made = note(await connect(lab));
    return made[4] > 0 && made[6] > 0;
  });
});

afterAll(async () => {
  await lab?.stop();
});

const node1 = async (...lines: string[]): Promise<void> => {
  for (const line of lines) await lab.exec('node1', line.split(' '));
};
const linkAddressOf = async (place: 'client' | 'node1' | 'node2', device: string): Promise<string> =>
  (await lab.exec(place, ['cat', `/sys/class/net/${device}/address`])).stdout.trim();

const failing = ({ checks }: Report): { readonly code: string; readonly text: string; readonly fix: string }[] =>
  (checks?.failing ?? []).map(({ reason }) => ({
    code: reason.code,
    text: reasonText(reason as Reason),
    fix: remedyText(reason as Reason),
  }));

/** Waits until both families fail by what the node sees of the neighbours. */
const untilNamed = (words: string, send = () => Promise.resolve<unknown>(undefined)) =>
  until(
    'both families fail',
    async (note) => {
      await send();
      const found = note(failing(await lab.report('node1')));
      return found.length === 2 && found.every(({ text }) => text.includes(words)) ? found : undefined;
    },
    60_000,
  );

const untilSound = () =>
  until(
    'nothing fails',
    async (note) => {
      await connect(lab, 1);
      return note(failing(await lab.report('node1'))).length === 0;
    },
    repairMilliseconds,
  );

/** Runs the command at the end of a fix. */
const repair = (fixes: readonly { readonly fix: string }[]): Promise<void> =>
  node1(...new Set(fixes.map(({ fix }) => fix.slice(fix.lastIndexOf(': ') + 2))));

describe('an entry of a pod that is set to another link-layer address', () => {
  test('is named without a connection, and the printed command makes clients be answered', async () => {
    await node1(...families.map((family) => `ip neigh replace ${pod[family]} lladdr ${wrong} nud permanent dev cali1`));
    const found = await untilNamed('neighbour entry');
    expect(await connect(lab)).toEqual({ 4: 0, 6: 0 });
    const there = await linkAddressOf('node2', 'eth0');
    expect(found).toEqual(
      families.map((family) => ({
        code: 'EndpointUnroutable',
        text: `there is no way to ${endpoints[family]}: the neighbour entry of ${pod[family]} on cali1 is set to ${wrong}, and what is behind cali1 has ${there}`,
        fix: `run on node "node1", and keep it for the next start: ip neigh del ${pod[family]} dev cali1`,
      })),
    );
    await repair(found);
    await untilSound();
    expect(await connect(lab)).toEqual({ 4: 3, 6: 3 });
  });

  test('is no problem when it has the right link-layer address', async () => {
    const there = await linkAddressOf('node2', 'eth0');
    await node1(...families.map((family) => `ip neigh replace ${pod[family]} lladdr ${there} nud permanent dev cali1`));
    await new Promise((resolve) => setTimeout(resolve, 35_000));
    expect(failing(await lab.report('node1'))).toEqual([]);
    expect(await connect(lab)).toEqual({ 4: 3, 6: 3 });
    await node1(...families.map((family) => `ip neigh del ${pod[family]} dev cali1`));
  });
});

test('an interface to a pod without ARP is named, and the printed command makes clients be answered', async () => {
  await node1('ip link set dev cali1 arp off');
  expect(await connect(lab)).toEqual({ 4: 0, 6: 0 });
  const found = await untilNamed('ARP is off');
  const own = await linkAddressOf('node1', 'cali1');
  expect(found.map(({ text }) => text)).toEqual(
    families.map((family) =>
      expect.stringMatching(`^there is no way to .*: ARP is off on cali1, so frames for ${pod[family]} go to ${own}, and what is behind`),
    ),
  );
  await repair(found);
  await untilSound();
  expect(await connect(lab)).toEqual({ 4: 3, 6: 3 });
});

test('an entry of the gateway to clients that is set to another link-layer address is named by the way back', async () => {
  await node1(...families.map((family) => `ip neigh replace ${router[family]} lladdr ${wrong} nud permanent dev uplink`));
  const found = await untilNamed('neighbour entry', () => connect(lab));
  expect(found.map(({ code, text }) => [code, text])).toEqual(
    families.map((family) => [
      'EndpointAnswersLost',
      expect.stringContaining(
        `the answers do not reach the clients: the neighbour entry of ${router[family]} on uplink is set to ${wrong}`,
      ),
    ]),
  );
  await repair(found);
  await untilSound();
  expect(await connect(lab)).toEqual({ 4: 3, 6: 3 });
});
