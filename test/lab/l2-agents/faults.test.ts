import { rename, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { until } from '../until.ts';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';
import { rankedByNumber } from './manifests.ts';
import { wallTime } from './watch.ts';

let lab: AgentsOnSegment | undefined;

afterEach(async () => {
  await lab?.close();
  lab = undefined;
});

/** Starts nodes of which n0 is the best placed one, and answers. */
async function start(nodes = 2, prepare?: (bed: AgentsOnSegment) => Promise<void>): Promise<AgentsOnSegment> {
  const bed = await AgentsOnSegment.build({ nodes, advertisement: rankedByNumber, idle: true });
  lab = bed;
  await prepare?.(bed);
  bed.startController();
  await Promise.all(Array.from({ length: nodes }, (_, at) => bed.startAgent(at)));
  await bed.watch.ask([vip, vip6]);
  await bed.untilOwner(0);
  return bed;
}

/** Figures are for a quiet machine; this bound is for one that is not. */
const busy = 10_000;

async function expectOneOwnerAgain(bed: AgentsOnSegment, owner: number, began: number): Promise<void> {
  await bed.untilOwner(owner);
  for (const address of [vip, vip6]) expect(await bed.watch.longestOverlap(address, began)).toBeLessThan(1_500);
}

/** Filters between ports of the bridge. */
async function filterBridge(bed: AgentsOnSegment, rule: string): Promise<void> {
  const nft = async (...words: string[]): Promise<unknown> => bed.inBridge(['nft', ...words]);
  await nft('add table bridge lab');
  await nft('add chain bridge lab forward { type filter hook forward priority 0; }');
  await nft(`add rule bridge lab forward ${rule}`);
}

const unfilterBridge = (bed: AgentsOnSegment): Promise<unknown> => bed.inBridge(['nft', 'delete', 'table', 'bridge', 'lab']);

describe('an owner that fails', () => {
  test('rule 2: killed, is replaced, and clients learn the next one by its announcement', async () => {
    const bed = await start();
    for (const address of [vip, vip6]) expect((await bed.client.tcp({ address, port: 80 })).failed).toBe(0);
    const neighbour = async (): Promise<string> =>
      (await bed.exec(bed.clientHost, ['ip', 'neigh', 'show', 'to', vip])).stdout +
      (await bed.exec(bed.clientHost, ['ip', '-6', 'neigh', 'show', 'to', vip6])).stdout;
    expect((await neighbour()).match(new RegExp(bed.segment.macOf(0), 'g'))).toHaveLength(2);
    await bed.kill(0);
    await bed.untilOwner(1, [vip, vip6], busy);
    await until(
      'the client knows the next owner',
      async (note) => (note(await neighbour()).match(new RegExp(bed.segment.macOf(1), 'g')) ?? []).length === 2,
    );
    for (const address of [vip, vip6]) expect((await bed.client.tcp({ address, port: 80, count: 10 })).failed).toBe(0);
  });

  test.each([200, 1_000, 5_000, 30_000])(
    'L2-30 stopped for %d ms, takes nothing from the next one when it wakes, and has its addresses back',
    async (milliseconds) => {
      const bed = await start();
      const began = wallTime();
      bed.agent(0).kill('SIGSTOP');
      await sleep(milliseconds);
      if (milliseconds > 1_000) await bed.untilOwner(1, [vip, vip6], busy);
      bed.agent(0).kill('SIGCONT');
      await sleep(2_000);
      await expectOneOwnerAgain(bed, 0, began);
    },
  );

  test('L2-28 whose link loses its carrier, is replaced, and has its addresses back with the carrier', async () => {
    const bed = await start();
    const began = wallTime();
    await bed.inBridge(['ip', 'link', 'set', 'p0', 'down']);
    await bed.untilOwner(1, [vip, vip6], busy);
    await until('the link is no longer reported', async (note) => (note((await bed.report(0)).links) ?? []).length === 0);
    await until('the cause is named', async (note) => /v0 of node "n0".* has no carrier/.test(note(await bed.explain())));
    await bed.inBridge(['ip', 'link', 'set', 'p0', 'up']);
    await expectOneOwnerAgain(bed, 0, began);
  });

  test('L2-9 behind a bridge cut in two, is the only owner soon after the repair, with few frames', async () => {
    const bed = await start();
    bed.segment.plug(0, false);
    await bed.untilOwner(1, [vip, vip6], busy);
    await until('both owners are named', async (note) =>
      /nodes "n0" \(v0\) and "n1" both answer for 10\.77\.1\.1: they do not hear each other/.test(note(await bed.explain())),
    );
    const healed = wallTime();
    bed.segment.plug(0, true);
    await bed.untilOwner(0);
    await sleep(500);
    const frames = (await bed.watch.frames()).filter(({ at, kind, address }) => kind === 'announcement' && address === vip && at >= healed);
    const first = frames[0]?.at ?? healed;
    expect(frames.filter(({ at }) => at < first + 1_000).length).toBeLessThan(20);
    expect(await bed.watch.longestOverlap(vip, healed)).toBeLessThan(1_000);
  });

  test('L2-9 whose interface gets another MAC address, announces it', async () => {
    const bed = await start();
    const mac = '02:00:00:00:77:aa';
    const changed = wallTime();
    await bed.exec(0, ['ip', 'link', 'set', 'v0', 'address', mac]);
    await until('the new address is announced', async (note) =>
      note(await bed.watch.frames()).some((frame) => frame.kind === 'announcement' && frame.address === vip && frame.mac === mac),
    );
    await sleep(2_000);
    for (const address of [vip, vip6]) expect([...(await bed.watch.answers(address, wallTime() - 500)).keys()]).toEqual([mac]);
    expect(await bed.watch.longestOverlap(vip, changed)).toBeLessThan(3_000);
    await until('the other node knows it', async (note) => note((await bed.report(0)).links)?.[0]?.linkAddress === mac);
    expect((await bed.report(1)).differing ?? []).toEqual([]);
  });
});

describe('without the controller and the directory', () => {
  test('failover works on the last roster', async () => {
    const bed = await start(3);
    await sleep(500);
    bed.controller.kill('SIGKILL');
    await rename(bed.directory, `${bed.directory}-away`);
    try {
      await bed.kill(0);
      await bed.untilOwner(1, [vip, vip6], busy);
      await bed.kill(1);
      await bed.untilOwner(2, [vip, vip6], busy);
    } finally {
      await rm(`${bed.directory}-away`, { recursive: true });
    }
  });
});

describe('rule 6: UDP port 3784 is blocked', () => {
  test('a failed owner is replaced all the same, and the reports say that BFD does not work', async () => {
    const bed = await start(2, async (one) => filterBridge(one, 'udp dport 3784 drop'));
    await until('both report it', async (note) => {
      const codes = await Promise.all([0, 1].map(async (at) => (await bed.report(at)).host?.map(({ code }) => code)));
      return note(codes).every((of) => of?.includes('L2NoPeerLiveness') === true);
    });
    await bed.kill(0);
    await bed.untilOwner(1, [vip, vip6], busy);
  });

  test('after it was open, the next node does not take over and reports that the owner answers', async () => {
    const bed = await start();
    const began = wallTime();
    await filterBridge(bed, 'udp dport 3784 drop');
    await until('it is reported', async (note) => note((await bed.report(1)).host)?.some(({ code }) => code === 'L2PeerWithoutBFD'));
    for (const address of [vip, vip6]) expect([...(await bed.watch.answers(address, began)).keys()]).toEqual([bed.segment.macOf(0)]);
    await unfilterBridge(bed);
    await until('it is over', async (note) => note((await bed.report(1)).host) === undefined);
  });
});

describe('loss in one direction', () => {
  test('L2-13 an owner that the next one does not hear gives way, names the link, and returns after repair', async () => {
    const bed = await start();
    await filterBridge(bed, 'iifname "p0" oifname "p1" drop');
    await bed.untilOwner(1, [vip, vip6], 30_000);
    await until('the dispute is reported', async (note) => note((await bed.report(0)).host)?.some(({ code }) => code === 'L2Disputed'));
    await unfilterBridge(bed);
    await bed.untilOwner(0);
  });
});

describe('a segment of three', () => {
  test('rule 7: a node that loses all others reports it, keeps its addresses, and takes no answered one', async () => {
    const bed = await start(3);
    await filterBridge(bed, 'iifname "p2" udp dport 3784 drop');
    await until('it is reported', async (note) => note((await bed.report(2)).host)?.some(({ code }) => code === 'L2Isolated'));
    const began = wallTime();
    await sleep(2_000);
    for (const address of [vip, vip6]) expect([...(await bed.watch.answers(address, began)).keys()]).toEqual([bed.segment.macOf(0)]);
    await unfilterBridge(bed);
    await until('it is over', async (note) => note((await bed.report(2)).host) === undefined);
  });
});
