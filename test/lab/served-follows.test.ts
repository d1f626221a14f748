import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { HeraldInLab } from './herald.ts';
import type { Lab } from './lab.ts';
import { startOneNodeFabric } from './one-node-fabric.ts';

/** How soon the first line of `herald explain service` follows what a client gets that connects several times a second. */
// Four minutes, and bounds on time, are too much beside other suites.
const isFull = process.env['TIER'] === 'full';
let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];
const stopped = new AbortController();
let connecting: Promise<void> | undefined;
/** Requests of the last round, and how many of them failed. */
let round = { requests: 0, failed: 0 };

beforeAll(async () => {
  if (!isFull) return;
  ({ lab, herald, addresses } = await startOneNodeFabric());
  addresses = addresses.concat('192.0.2.10', '2001:db8:2::10');
  connecting = connect();
  await untilFirstLine(/^Served:/, 90_000);
  // Answers are usual only after a minute.
  await setTimeout(75_000);
});

afterEach(async () => void (await untilFirstLine(/^Served:/, 90_000)));

afterAll(async () => {
  stopped.abort();
  await connecting;
  await lab?.stop();
});

async function connect(): Promise<void> {
  while (!stopped.signal.aborted) {
    const requests = addresses.map((address) => ({ address, port: 80, count: 2, timeoutMs: 700 }));
    const reports = await Promise.all(requests.flatMap((request) => [lab.client.tcp(request), lab.client.udp(request)]));
    round = { requests: 4 * addresses.length, failed: reports.reduce((sum, { failed }) => sum + failed, 0) };
    await setTimeout(300);
  }
}

/** Returns the seconds until the first line is so. */
async function untilFirstLine(pattern: RegExp, milliseconds: number): Promise<number> {
  const began = performance.now();
  await lab.until(
    `the first line is ${pattern}`,
    async (note) => pattern.test(note((await herald.explain('shop/web')).split('\n')[0] ?? '')),
    milliseconds,
  );
  return Math.round((performance.now() - began) / 1000);
}

/** Lets all connections fail, and answers them again after the first line has said so. Returns the seconds until the line followed each time. */
async function failAndRepair(fail: () => Promise<unknown>, repair: () => Promise<unknown>, line: RegExp): Promise<readonly number[]> {
  await fail();
  const failing = await untilFirstLine(line, 120_000);
  expect(round.failed).toBe(round.requests);
  await setTimeout(20_000);
  await repair();
  const repaired = await untilFirstLine(/^Served:/, 120_000);
  await lab.until('the client is answered', async (note) => note(round).failed === 0);
  return [failing, repaired];
}

test.runIf(isFull)('Served ends when nothing arrives any more, and returns when connections are answered again', async () => {
  const rules = (verb: string): Promise<unknown> =>
    Promise.all(
      ['-4', '-6'].map((family) => lab.machine('spine').exec(['ip', family, 'rule', verb, 'iif', 'client', 'prio', '5', 'blackhole'])),
    );
  const [failing = 0, repaired = 0] = await failAndRepair(
    () => rules('add'),
    () => rules('del'),
    /^Announced, not checked/,
  );
  expect(failing).toBeLessThanOrEqual(100);
  expect(repaired).toBeLessThanOrEqual(20);
});

test.runIf(isFull)('Served ends when no connection is answered, and returns after the repair', async () => {
  const nft = (command: string): Promise<unknown> => lab.pod('web-1').exec(['nft', command]);
  const [failing = 0, repaired = 0] = await failAndRepair(
    () => nft('table inet t { chain i { type filter hook input priority 0; meta l4proto { tcp, udp } th dport 1-65535 drop; }; }'),
    () => nft('delete table inet t'),
    /^(?!Served:)/,
  );
  expect(failing).toBeLessThanOrEqual(45);
  expect(repaired).toBeLessThanOrEqual(20);
});
