import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { address } from '../../../src/net/address.ts';
import { decodeFrame, type Frame } from '../../../src/l2/wire/frame.ts';
import { allNodes, solicitedNodeGroup } from '../../../src/l2/wire/multicast.ts';
import { advertisement, arpRequest, mac, patched, solicitation, withChecksum } from '../../../src/l2/test/frames.ts';
import { until } from '../until.ts';
import { L2Process, Segment } from './segment.ts';

/** Host 0 runs the library, host 1 is a client that asks with the tools of Debian. */
const vip = '10.77.1.1';
const vip6 = 'fd77::1:1';
let segment: Segment;
let node: L2Process;

beforeAll(async () => {
  segment = new Segment(2);
  // In real time, as agents do: a thread that a busy machine holds up drops what waits, and doubts its addresses.
  node = new L2Process(segment.host(0), { realTime: true });
  const refused = await node.set({
    node: 'n0',
    links: [segment.linkOf(0)],
    addresses: [vip, vip6].map((address) => ({ address, interface: 'v0', candidates: ['n0'], everHeld: true })),
  });
  expect(refused).toEqual([]);
  await until(
    'the addresses are held',
    async (note) => note(await node.stateOf(vip)) === 'owner' && (await node.stateOf(vip6)) === 'owner',
  );
});
afterAll(async () => {
  await node?.kill();
  segment?.close();
});

const client = (): number => mac(segment.macOf(1));
const ours = (): number => mac(segment.macOf(0));
const request = (fields = {}): Uint8Array =>
  arpRequest({ etherSource: client(), senderMac: client(), sender: address('10.77.0.11'), target: address(vip), ...fields });
const solicit = (fields = {}): Uint8Array =>
  solicitation({ etherSource: client(), source: address('fd77::11'), target: address(vip6), ...fields });

/** Sends frames and returns the answers for our addresses. */
const answersTo = (...frames: readonly Uint8Array[]): Frame[] => answers(frames, 0);

/** Waits longer for the expected number of answers: frames of other hosts do not count. */
function answers(frames: readonly Uint8Array[], expected: number): Frame[] {
  return answersAmong(segment.exchange(1, frames, 150, (received) => answersAmong(received).length >= expected));
}

function answersAmong(received: readonly Uint8Array[]): Frame[] {
  return received
    .map((octets) => decodeFrame(octets))
    .filter((frame): frame is Frame => typeof frame !== 'string')
    .filter((frame) => (frame.kind === 'arp' ? frame.senderMac === ours() && frame.operation === 'reply' : frame.kind === 'advertisement'))
    .filter(
      (frame) => frame.etherDestination === client() || (frame.kind === 'advertisement' && frame.destination.value === allNodes.value),
    );
}

const ignored = async (): Promise<Readonly<Record<string, number>>> => (await node.status()).counters.ignored;

describe('ARP', () => {
  test('L2-1 arping gets answers from our MAC address, one for each broadcast', () => {
    const output = segment.run(1, 'arping', '-c', '5', '-w', '20', '-i', 'v0', vip);
    expect(output.match(new RegExp(`from ${segment.macOf(0)} \\(${vip}\\)`, 'g'))?.length).toBe(5);
  });

  test('L2-3 arping with the source address 0.0.0.0 gets an answer', () => {
    expect(segment.run(1, 'arping', '-0', '-c', '1', '-C', '1', '-w', '10', '-i', 'v0', vip)).toContain(segment.macOf(0));
  });

  test('L2-4 a unicast request gets exactly one answer', () => {
    expect(answersTo(request({ etherDestination: ours() }))).toMatchObject([
      { operation: 'reply', etherSource: ours(), etherDestination: client(), senderMac: ours(), sender: address(vip), targetMac: client() },
    ]);
  });

  test('L2-2 an Ethernet source other than the sender is answered to the sender and counted', async () => {
    expect(answersTo(request({ etherSource: mac('02:00:00:00:77:99') }))).toHaveLength(1);
    expect((await node.status()).counters.otherEtherSource).toBeGreaterThan(0);
  });

  test('L2-1 arp-scan finds one host for the address', () => {
    const output = segment.run(1, 'arp-scan', '--interface=v0', '--retry=1', '--plain', vip);
    expect(output.trim().split('\n')).toHaveLength(1);
    expect(output).toContain(segment.macOf(0));
  });

  test('L2-23 the kernel of the client resolves the address, and the kernel of the node has no such address', async () => {
    segment.run(1, 'bash', '-c', `echo > /dev/udp/${vip}/9`);
    await until('the neighbour is known', (note) => note(segment.run(1, 'ip', 'neigh', 'show', vip)).includes(segment.macOf(0)));
    expect(segment.run(0, 'ip', 'addr')).not.toContain(vip);
  });

  test('L2-2 a truncated or malformed request gets no answer', async () => {
    const cut = Array.from({ length: 28 }, (_, at) => request().subarray(0, 14 + at));
    const wrong = [
      { 18: 8 },
      { 19: 16 },
      { 15: 6 },
      ...[3, 4, 5, 6, 7, 8, 9].map((operation) => ({ 21: operation })),
      { 22: 255 },
      { 22: 1 },
    ];
    const own = request({ senderMac: ours() });
    const announcement = request({ sender: address(vip) });
    expect(answersTo(...cut, ...wrong.map((change) => patched(request(), change)), own)).toEqual([]);
    // The filter drops the others in the kernel.
    await until('the codec refuses a sender that no host can have', async () => ((await ignored())['arpSender'] ?? 0) >= 2);
    await until('our own MAC address is no sender', async () => ((await ignored())['ownFrame'] ?? 0) >= 1);
    expect(answersTo(announcement)).toEqual([]);
  });
});

describe('NDP', () => {
  test('L2-15 ndisc6 gets one answer from our MAC address', () => {
    const output = segment.run(1, 'ndisc6', '-m', '-r', '1', '-w', '500', vip6, 'v0');
    expect(output.match(/Target link-layer address: (\S+)/gi)?.length).toBe(1);
    expect(output.toLowerCase()).toContain(segment.macOf(0));
  });

  test('L2-15 the answer has the Solicited and Override flags, and not the Router flag', () => {
    expect(answersTo(solicit({ sourceLink: client() }))).toMatchObject([
      { kind: 'advertisement', solicited: true, override: true, router: false, targetLink: ours(), etherDestination: client() },
    ]);
  });

  test('L2-16 the kernel of the client finds the address taken (DAD, RFC 4862 5.4)', async () => {
    segment.run(1, 'ip', 'addr', 'add', `${vip6}/64`, 'dev', 'v0');
    await until('duplicate address detection fails', (note) =>
      note(segment.run(1, 'ip', '-6', 'addr', 'show', 'dev', 'v0')).includes('dadfailed'),
    );
    segment.run(1, 'ip', 'addr', 'del', `${vip6}/64`, 'dev', 'v0');
  });

  test('L2-16 a solicitation without a source is answered to all nodes, without the Solicited flag', () => {
    expect(answersTo(solicit({ source: address('::') }))).toMatchObject([{ solicited: false, override: true, destination: allNodes }]);
  });

  test('L2-17 a solicitation without a source link-layer address is answered to the Ethernet source', () => {
    expect(answersTo(solicit())).toMatchObject([{ solicited: true, etherDestination: client() }]);
  });

  test('L2-18 a unicast solicitation to the address itself is answered', () => {
    expect(answersTo(solicit({ destination: address(vip6), etherDestination: ours() }))).toHaveLength(1);
  });

  test('L2-20 the kernel has joined the group of the address', async () => {
    await until('the group is joined', (note) => note(segment.run(0, 'ip', '-6', 'maddr', 'show', 'dev', 'v0')).includes('ff02::1:ff01:1'));
    expect((await node.status()).links[0]?.groups).toEqual({ joined: 1, waiting: 0 });
  });

  test('L2-14 L2-32 a malformed solicitation gets no answer and is counted by its reason', async () => {
    const frames = [
      patched(solicit(), { 21: 254 }),
      patched(solicit(), { 57: 1 }),
      withChecksum(patched(solicit(), { 55: 1 })),
      solicit({ source: address('::'), sourceLink: client() }),
      solicit({ destination: solicitedNodeGroup(address('::2')), etherDestination: ours() }),
      solicit({ sourceLink: 0 }),
      ...Array.from({ length: 24 }, (_, at) => solicit().subarray(0, 54 + at)),
    ];
    expect(answersTo(...frames)).toEqual([]);
    await until('the reasons are counted', async (note) => {
      const { ndpChecksum = 0, ndpSource = 0, ndpLinkAddress = 0 } = note(await ignored()) as Record<string, number>;
      return ndpChecksum >= 1 && ndpSource >= 2 && ndpLinkAddress >= 1;
    });
  });

  test('L2-19 an advertisement with the Solicited flag to a group is refused', async () => {
    segment.send(1, [advertisement({ etherSource: client(), solicited: true, target: address(vip6) })]);
    await until('it is counted', async () => ((await ignored())['ndpSolicited'] ?? 0) >= 1);
    expect(await node.stateOf(vip6)).toBe('owner');
  });
});

test('L2-1 of 10,000 requests each has exactly one answer', () => {
  const frames = Array.from({ length: 100 }, () => request());
  let found = 0;
  for (let round = 0; round < 100; round++) found += answers(frames, frames.length).filter(({ kind }) => kind === 'arp').length;
  expect(found).toBe(10_000);
});
