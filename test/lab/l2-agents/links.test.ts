import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { run } from '../command.ts';
import { ip } from '../namespace.ts';
import { until } from '../until.ts';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';
import { nodeAddress, nodeAddress6, podAddress, podAddress6, rankedByNumber } from './manifests.ts';

/** n0 has its address on a macvlan device, and n1 on a bridge. */
let lab: AgentsOnSegment;
const devices = ['m0', 'br1'] as const;

/** Puts a device above v0 that gets the link address, the addresses and the routes of v0. */
async function putAbove(at: 0 | 1, ...lines: readonly string[]): Promise<void> {
  const [device, other] = [devices[at], at === 0 ? 1 : 0];
  const to = lab.segment.host(at);
  await ip(['addr flush dev v0', `link set v0 address 02:00:00:00:99:0${at}`, ...lines, `link set ${device} up`], to);
  await ip(
    [
      `addr add ${nodeAddress(at)}/16 dev ${device}`,
      `addr add ${nodeAddress6(at)}/64 dev ${device} nodad`,
      // The kernel removed the routes that had the former address as their source.
      `route replace ${podAddress(at)}/32 dev pod src ${nodeAddress(at)}`,
      `route replace ${podAddress6(at)}/128 dev pod src ${nodeAddress6(at)}`,
      `route replace 10.244.${other}.0/24 via ${nodeAddress(other)}`,
      `route replace fd44:${other}::/64 via ${nodeAddress6(other)}`,
    ],
    to,
  );
}

beforeAll(async () => {
  lab = await AgentsOnSegment.build({ nodes: 2, advertisement: { ...rankedByNumber, promiscuous: true }, idle: true });
  await putAbove(0, `link add link v0 name m0 address ${lab.segment.macOf(0)} type macvlan mode bridge`);
  await putAbove(1, `link add br1 address ${lab.segment.macOf(1)} type bridge mcast_snooping 0`, 'link set v0 master br1');
  // With it pods of other nodes are not reached: see bridge-uplink.test.ts.
  for (const tables of ['iptables', 'ip6tables'])
    await run(['ip', 'netns', 'exec', lab.segment.host(1), 'sysctl', '-qw', `net.bridge.bridge-nf-call-${tables}=0`], { check: false });
  const snooping = 'type bridge mcast_snooping 1 mcast_querier 1 mcast_query_interval 200 mcast_query_response_interval 100';
  await ip([`link set br0 ${snooping}`], lab.segment.bridge);
  lab.startController();
  await Promise.all([lab.startAgent(0), lab.startAgent(1)]);
  await lab.watch.ask([vip, vip6], 25);
  await lab.untilOwner(0);
});

afterAll(async () => {
  await lab?.close();
});

beforeEach(async () => {
  await lab.untilOwner(0);
});

async function failOver(): Promise<void> {
  await lab.kill(0);
  await lab.untilOwner(1);
}

async function expectAnswers(): Promise<void> {
  for (const address of [vip, vip6]) {
    const tcp = await lab.client.tcp({ address, port: 80, count: 20 });
    expect(tcp.errors).toEqual({});
    expect(Object.keys(tcp.pods).sort()).toEqual(['pod0', 'pod1']);
    expect((await lab.client.udp({ address, port: 80, count: 10 })).errors).toEqual({});
  }
}

const neighbours = (): string =>
  [vip, vip6].map((address) => lab.segment.run(lab.clientHost, 'ip', 'neigh', 'show', 'to', address)).join('');

describe('kinds of links', () => {
  test('L2-29 addresses are announced on a macvlan device, and on a bridge when that node takes over', async () => {
    for (const [at, device] of devices.entries()) expect((await lab.report(at)).links?.map(({ name }) => name)).toContain(device);
    await expectAnswers();
    await failOver();
    await expectAnswers();
    await lab.startAgent(0);
  });

  test('L2-29 promiscuous: the kernel receives all frames of the links', async () => {
    for (const [at, device] of devices.entries()) {
      const { stdout } = await lab.exec(at, ['ip', '-d', '-j', 'link', 'show', device]);
      const [{ promiscuity = 0 } = {}] = JSON.parse(stdout) as { promiscuity?: number }[];
      expect(promiscuity).toBeGreaterThan(0);
    }
  });

  test('L2-28 an interface that loses its carrier takes no part, and does again when it returns', async () => {
    const port = (state: string): Promise<unknown> => run(['ip', '-n', lab.segment.bridge, 'link', 'set', 'p0', state]);
    await port('down');
    await lab.untilOwner(1);
    await until('the report has no link', async (note) => note((await lab.report(0)).links)?.every(({ name }) => name !== 'm0'));
    await port('up');
    await lab.untilOwner(0);
    await expectAnswers();
  });
});

describe('a bridge that snoops, with a querier', () => {
  test('L2-21 case 9: every candidate has joined the group, so a takeover does not wait for MLD', async () => {
    const group = 'ff02::1:ff01:1';
    await until('the bridge knows both ports', async (note) => {
      const { stdout } = await run(['bridge', '-n', lab.segment.bridge, 'mdb', 'show']);
      const ports = note(stdout.split('\n').filter((line) => line.includes(group)));
      return ['p0', 'p1'].every((port) => ports.some((line) => line.includes(`port ${port} `)));
    });
    const { stdout } = await run(['bridge', '-n', lab.segment.bridge, 'mdb', 'show']);
    expect(stdout).not.toMatch(new RegExp(`port p${lab.clientHost} grp ${group}`));
    await failOver();
    lab.segment.run(lab.clientHost, 'ip', 'neigh', 'flush', 'dev', 'v0');
    expect((await lab.client.tcp({ address: vip6, port: 80, count: 10 })).errors).toEqual({});
    await lab.startAgent(0);
  });

  test.each([0, 1])('case 9: a client with arp_accept %i learns of the new owner by its announcements', async (accept) => {
    lab.segment.run(lab.clientHost, 'sysctl', '-qw', `net.ipv4.conf.v0.arp_accept=${accept}`);
    lab.segment.run(lab.clientHost, 'ip', 'neigh', 'flush', 'dev', 'v0');
    // Without arp_accept an announcement replaces an entry and creates none.
    if (accept === 0) await expectAnswers();
    await failOver();
    await until('the client knows the new owner', (note) => {
      const lines = note(neighbours())
        .split('\n')
        .filter((line) => line !== '');
      return lines.length >= (accept === 0 ? 2 : 1) && lines.every((line) => line.includes(lab.segment.macOf(1)));
    });
    await lab.startAgent(0);
  });
});
