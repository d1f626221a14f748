import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { address } from '../../../src/net/address.ts';
import type { AddressEntry, L2Event, Table } from '../../../src/l2/index.ts';
import { decodeFrame } from '../../../src/l2/wire/frame.ts';
import { arpRequest, mac } from '../../../src/l2/test/frames.ts';
import { run } from '../../peers/link.ts';
import { until } from '../until.ts';
import { L2Process, Segment } from './segment.ts';

const vip = '10.77.1.1';
const vip6 = 'fd77::1:1';
let segment: Segment | undefined;
const nodes: L2Process[] = [];

const folder = mkdtempSync(join(tmpdir(), 'herald-ownership-'));
afterAll(() => rmSync(folder, { recursive: true }));

afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.kill()));
  segment?.close();
  segment = undefined;
});

/** Starts the library on the first hosts, with BFD among them. The last host is the client. */
async function start(count: number, hosts = count + 1, entry: Partial<AddressEntry> = {}): Promise<Segment> {
  segment = new Segment(hosts);
  for (let at = 0; at < count; at++) nodes.push(new L2Process(segment.host(at), { realTime: true }));
  for (const [at, node] of nodes.entries()) {
    expect(await node.set(tableOf(segment, at, count, entry))).toEqual([]);
    const peers = peersOf(at, count).map((peer) => ({ name: `bfd-n${peer}`, peer: `10.77.0.${10 + peer}` }));
    if (peers.length > 0) expect(await node.call('bfd', peers)).toEqual([]);
  }
  return segment;
}

const peersOf = (at: number, count: number): number[] => Array.from({ length: count }, (_, peer) => peer).filter((peer) => peer !== at);

function tableOf(segment: Segment, at: number, count: number, entry: Partial<AddressEntry>): Table {
  const candidates = Array.from({ length: count }, (_, number) => `n${number}`);
  return {
    node: `n${at}`,
    links: [segment.linkOf(at, peersOf(at, count))],
    addresses: [vip, vip6].map((address) => ({ address, interface: 'v0', candidates, everHeld: true, ...entry })),
  };
}

const node = (at: number): L2Process => {
  const found = nodes[at];
  if (found === undefined) throw new Error(`there is no node ${at}`);
  return found;
};

/** MACs of the hosts that answer an ARP request of the last host. Waits longer until `isComplete`, because the machine may be busy. */
function answering(bed: Segment, isComplete: (answers: readonly number[]) => boolean = () => true): number[] {
  const from = bed.hosts.length - 1;
  const client = mac(bed.macOf(from));
  const request = arpRequest({ etherSource: client, senderMac: client, sender: address(`10.77.0.${10 + from}`), target: address(vip) });
  const answersIn = (frames: readonly Uint8Array[]): number[] =>
    frames
      .map((octets) => decodeFrame(octets))
      .flatMap((frame) =>
        typeof frame !== 'string' && frame.kind === 'arp' && frame.operation === 'reply' && frame.etherDestination === client
          ? [frame.senderMac]
          : [],
      );
  return answersIn(bed.exchange(from, [request], 60, (frames) => isComplete(answersIn(frames))));
}

/** The same for an address that has an owner. */
const answers = (bed: Segment): number[] => answering(bed, (found) => found.length > 0);

const untilOwner = (at: number): Promise<unknown> =>
  until(`node ${at} owns the addresses`, async (note) =>
    note([await node(at).stateOf(vip), await node(at).stateOf(vip6)]).every((state) => state === 'owner'),
  );

const changes = (events: readonly L2Event[]): string[] =>
  events.flatMap((event) => (event.kind === 'changed' && event.address === vip ? [`${event.to} ${event.cause}`] : []));

describe('two nodes and a client', () => {
  test('the owner is killed, the next one takes over both families, and the better one gets them back', async () => {
    const bed = await start(2);
    await untilOwner(0);
    expect(answers(bed)).toEqual([mac(bed.macOf(0))]);
    // The client's kernel knows the owner.
    bed.run(2, 'bash', '-c', `echo > /dev/udp/${vip}/9`);
    await until('the client knows the owner', (note) => note(bed.run(2, 'ip', 'neigh', 'show', vip)).includes(bed.macOf(0)));
    await node(0).kill();
    await untilOwner(1);
    expect(answers(bed)).toEqual([mac(bed.macOf(1))]);
    // An announcement replaces the entry of the client at once (L2-7).
    await until('the client knows the new owner', (note) => note(bed.run(2, 'ip', 'neigh', 'show', vip)).includes(bed.macOf(1)));
    nodes[0] = new L2Process(bed.host(0), { realTime: true });
    await node(0).set(tableOf(bed, 0, 2, {}));
    await node(0).call('bfd', [{ name: 'bfd-n1', peer: '10.77.0.11' }]);
    await untilOwner(0);
    await until('the other one has yielded', async (note) => note(await node(1).stateOf(vip)) === 'standby');
    expect(answers(bed)).toEqual([mac(bed.macOf(0))]);
    expect(changes(await node(1).events())).toContain('standby heardBetter');
  });

  test('L2-30 a stopped owner loses the addresses, and takes nothing when it wakes', async () => {
    const bed = await start(2);
    await untilOwner(0);
    expect(changes(await node(0).events())[0]).toBe('owner elected');
    node(0).signal('SIGSTOP');
    await untilOwner(1);
    node(0).signal('SIGCONT');
    await untilOwner(0);
    const events = await node(0).events();
    expect(events.some(({ kind }) => kind === 'stalled')).toBe(true);
    // It was doubtful, heard or asked the other one, and claimed only after its sessions had settled.
    expect(changes(events).slice(0, 2)).toEqual(['doubtful doubt', 'standby heardWorse']);
    await until('one node answers', () => answering(bed).join() === `${mac(bed.macOf(0))}`);
  });

  test('rule 8: an owner that stops hands over', async () => {
    const bed = await start(2);
    await untilOwner(0);
    const stopped = node(0).call('stop');
    await untilOwner(1);
    await stopped;
    expect(changes(await node(1).events())).toEqual(['owner elected']);
    expect(answers(bed)).toEqual([mac(bed.macOf(1))]);
  });

  test('L2-9 a segment cut in two and healed has one owner again', async () => {
    const bed = await start(2);
    await untilOwner(0);
    bed.plug(1, false);
    await untilOwner(1);
    bed.plug(1, true);
    await until('the worse one has yielded', async (note) => note(await node(1).stateOf(vip)) === 'standby');
    expect(await node(0).stateOf(vip)).toBe('owner');
    expect(answers(bed)).toEqual([mac(bed.macOf(0))]);
  });
});

describe('the main thread', () => {
  test('rule 9: while it works for 4 s, requests are answered', async () => {
    const bed = await start(1);
    await untilOwner(0);
    const blocked = node(0).call('block', 4_000);
    const found = Array.from({ length: 40 }, () => answers(bed));
    await blocked;
    expect(found.filter((macs) => macs.length !== 1)).toEqual([]);
    expect((await node(0).events()).filter(({ kind }) => kind === 'suspended')).toEqual([]);
  });

  test('L2-25 when it hangs (rule 9), answers end after 2 s, and go on when it is back', async () => {
    const bed = await start(1);
    await untilOwner(0);
    const pipe = join(folder, 'hang');
    run('mkfifo', pipe);
    const began = Date.now();
    const hanging = node(0).call('hang', pipe);
    expect(answers(bed)).toHaveLength(1);
    // An answer may be late on a busy machine, but not ten of them.
    await until('nobody answers', () => Array.from({ length: 10 }, () => answering(bed)).flat().length === 0);
    await writeFile(pipe, '');
    await hanging;
    await untilOwner(0);
    await until('it is answered again', () => answering(bed).length === 1);
    const events = (await node(0).events()).filter(({ kind }) => kind !== 'changed');
    // Where the whole process did not run, the thread gets its time anew, and may be found hanging twice.
    const stalls = events.filter(({ kind }) => kind === 'stalled').length;
    const suspensions = events.filter(({ kind }) => kind === 'suspended').length;
    expect(suspensions).toBeLessThanOrEqual(1 + stalls);
    expect(events.map(({ kind }) => kind).filter((kind) => kind !== 'stalled')).toEqual(
      Array.from({ length: Math.max(1, suspensions) }, () => ['suspended', 'resumed']).flat(),
    );
    const first = events.findIndex(({ kind }) => kind === 'suspended');
    const since = Math.max(began, ...events.slice(0, first).map(({ at }) => Date.parse(String(at))));
    expect(Date.parse(String(events[first]?.at)) - since).toBeLessThan(7_500);
  });

  test('rule 9: the process ends although the thread waits for frames', async () => {
    await start(1);
    await untilOwner(0);
    await node(0).call('exit');
    await until('the process has ended', async () => {
      try {
        await node(0).status();
        return false;
      } catch {
        return true;
      }
    });
  });
});

describe('foreign hosts', () => {
  test('L2-6 an address that a foreign host has is not claimed before that one is gone', async () => {
    const bed = new Segment(2);
    segment = bed;
    bed.run(1, 'ip', 'addr', 'add', `${vip}/32`, 'dev', 'v0');
    bed.run(1, 'ip', 'addr', 'add', `${vip6}/128`, 'dev', 'v0', 'nodad');
    nodes.push(new L2Process(bed.host(0)));
    await node(0).set(tableOf(bed, 0, 1, { everHeld: false }));
    await until('both are in conflict', async (note) =>
      note([await node(0).stateOf(vip), await node(0).stateOf(vip6)]).every((state) => state === 'conflict'),
    );
    const conflicts = (await node(0).events()).filter((event) => event.kind === 'conflict');
    expect(new Set(conflicts.map(({ mac }) => mac))).toEqual(new Set([bed.macOf(1)]));
    bed.run(1, 'ip', 'addr', 'del', `${vip}/32`, 'dev', 'v0');
    bed.run(1, 'ip', 'addr', 'del', `${vip6}/128`, 'dev', 'v0');
    await untilOwner(0);
  });

  test('L2-12 the owner defends an address once against a foreign announcement, and reports its MAC', async () => {
    const bed = await start(1);
    await untilOwner(0);
    bed.run(1, 'ip', 'addr', 'add', `${vip}/32`, 'dev', 'v0');
    bed.run(1, 'arping', '-U', '-c', '3', '-i', 'v0', '-S', vip, vip);
    const event = await until('the conflict is reported', async () => (await node(0).events()).find(({ kind }) => kind === 'conflict'));
    expect(event).toMatchObject({ address: vip, mac: bed.macOf(1) });
    expect(await node(0).stateOf(vip)).toBe('owner');
  });

  test('L2-12 with the policy to withdraw it is given up', async () => {
    const bed = await start(1, 2, { onConflict: 'withdraw' });
    await untilOwner(0);
    bed.run(1, 'ip', 'addr', 'add', `${vip}/32`, 'dev', 'v0');
    bed.run(1, 'arping', '-U', '-c', '1', '-i', 'v0', '-S', vip, vip);
    await until('the address is withdrawn', async (note) => note(await node(0).stateOf(vip)) === 'conflict');
    expect(await node(0).stateOf(vip6)).toBe('owner');
  });
});

describe('the interface', () => {
  test('L2-9 a new MAC address reaches clients at once, before the table has it', async () => {
    const bed = await start(1);
    await untilOwner(0);
    bed.run(1, 'bash', '-c', `echo > /dev/udp/${vip}/9; echo > /dev/udp/${vip6}/9`);
    const neighbours = (): string => bed.run(1, 'ip', 'neigh', 'show', 'to', vip) + bed.run(1, 'ip', 'neigh', 'show', 'to', vip6);
    await until('the client knows both', (note) => note(neighbours()).split(bed.macOf(0)).length === 3);
    bed.run(0, 'ip', 'link', 'set', 'v0', 'address', '02:00:00:00:99:99');
    await until('the client knows the new address', (note) => note(neighbours()).split('02:00:00:00:99:99').length === 3);
  });

  test('L2-9 when the carrier is back, held addresses are checked and announced without a new table', async () => {
    const bed = await start(1);
    await untilOwner(0);
    run('ip', '-n', bed.bridge, 'link', 'set', 'p0', 'down');
    run('ip', '-n', bed.bridge, 'link', 'set', 'p0', 'up');
    const causes = new Map<string, string[]>([vip, vip6].map((address) => [address, []]));
    await until('both are doubted and confirmed', async (note) => {
      for (const event of await node(0).events()) if (event.kind === 'changed') causes.get(event.address)?.push(event.cause);
      return note([...causes.values()]).every((of) => of.slice(-2).join() === 'doubt,confirmed');
    });
    expect(answers(bed)).toEqual([mac(bed.macOf(0))]);
  });

  test('an interface that is made anew is used again, with its groups (L2-20)', async () => {
    const bed = await start(1);
    await untilOwner(0);
    bed.run(0, 'ip', 'link', 'del', 'v0');
    await until('the problem is known', async (note) => note((await node(0).status()).links[0]?.problem) !== undefined);
    bed.run(0, 'ip', 'link', 'add', 'v0', 'address', bed.macOf(0), 'type', 'veth', 'peer', 'name', 'p9');
    bed.run(0, 'ip', 'link', 'set', 'v0', 'up');
    await until('the sockets are open', async (note) => note((await node(0).status()).links[0]?.problem) === undefined);
    await until('the group is joined', (note) => note(bed.run(0, 'ip', '-6', 'maddr', 'show', 'dev', 'v0')).includes('ff02::1:ff01:1'));
  });

  test('L2-8 L2-10 10,000 addresses are announced in both forms without a lost frame', async () => {
    const bed = new Segment(2);
    segment = bed;
    nodes.push(new L2Process(bed.host(0), { realTime: true }));
    await node(0).call('started');
    const took = (await node(0).call('claimMany', 10_000, bed.macOf(0))) as { readonly milliseconds: number; readonly cpu: number };
    console.log(`10,000 addresses: ${Math.round(took.milliseconds)} ms, ${Math.round(took.cpu)} ms of processor time`);
    const { counters, links } = await node(0).status();
    expect(counters.sendFailures).toBe(0);
    expect(links[0]?.drops).toBe(0);
  });
});
