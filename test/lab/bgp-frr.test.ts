import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PeerStatus } from '../../src/bgp/index.ts';
import type { SpeakerProcess } from '../peers/speaker-process.ts';
import {
  killRouter,
  prefixes,
  routerAddress,
  routerLog,
  routes,
  sessionState,
  setUp,
  show,
  speakerAddress,
  startRouter,
  startSpeaker,
  tearDown,
  until,
  vtysh,
} from './bgp-frr-lab.ts';

const router = (neighbors: string): string => `
frr defaults datacenter
log file ${routerLog()} informational
router bgp 65001
 bgp router-id 10.99.0.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 bgp log-neighbor-changes
 timers bgp 3 9
${neighbors}
`;

const neighbor = (address: string, asn: number, families: readonly (4 | 6)[], password?: string): string => `
 neighbor ${address} remote-as ${asn}
 neighbor ${address} timers connect 1
 ${password === undefined ? '!' : `neighbor ${address} password ${password}`}
${families
  .map(
    (family) => ` address-family ipv${family} unicast
  neighbor ${address} activate
  neighbor ${address} soft-reconfiguration inbound
 exit-address-family`,
  )
  .join('\n')}`;

const extendedNextHop = `
 neighbor ${speakerAddress[6]} capability extended-nexthop`;
const withoutExtendedNextHop = (): string =>
  router(neighbor(speakerAddress[4], 64512, [4, 6]) + neighbor(speakerAddress[6], 64512, [4, 6]));
const bothSessions = (): string => `${withoutExtendedNextHop().trimEnd()}${extendedNextHop}\n`;

let speaker: SpeakerProcess;
const status = async (name: string): Promise<PeerStatus> => (await speaker.call('status', name)) as PeerStatus;
const established = (name: string): Promise<PeerStatus> =>
  until(
    () => status(name),
    ({ state }) => state === 'Established',
  );
const failed = (name: string): Promise<PeerStatus> =>
  until(
    () => status(name),
    ({ lastError }) => lastError !== undefined,
  );
/** FRR reaches Established one message later than our speaker. */
const establishedAtFrr = (family: 4 | 6): Promise<string> =>
  until(
    () => sessionState(speakerAddress[family]),
    (state) => state === 'Established',
  );

describe('a session with FRR', () => {
  beforeAll(() => setUp());
  afterAll(() => tearDown());
  beforeEach(() => {
    speaker = startSpeaker();
  });
  afterEach(async () => {
    await speaker.kill();
    await killRouter();
  });

  test('sessions over IPv4 and IPv6 announce and withdraw routes of both families', async () => {
    startRouter(bothSessions());
    await speaker.call('addPeer', { name: 'v4', address: routerAddress[4], families: [4, 6], nextHop: { ipv6: speakerAddress[6] } });
    await speaker.call('addPeer', { name: 'v6', address: routerAddress[6], families: [4, 6] });
    for (const name of ['v4', 'v6']) expect(await established(name)).toMatchObject({ state: 'Established', peerAsn: 65001 });
    for (const family of [4, 6] as const) expect(await establishedAtFrr(family)).toBe('Established');

    await speaker.call('set', 'v4', ['192.0.2.1/32', '198.51.100.0/24', '2001:db8::1/128']);
    await speaker.call('set', 'v6', [{ prefix: '2001:db8::2/128', med: 7, asPathPrepend: 2 }, '192.0.2.2/32']);
    await until(
      () => [...prefixes(4), ...prefixes(6)],
      (all) => all.length === 5,
    );
    expect(prefixes(4)).toEqual(['192.0.2.1/32', '192.0.2.2/32', '198.51.100.0/24']);
    expect(prefixes(6)).toEqual(['2001:db8::1/128', '2001:db8::2/128']);
    expect(routes(4)['192.0.2.1/32']?.[0]).toMatchObject({ origin: 'IGP', path: '64512', nexthops: [{ ip: speakerAddress[4] }] });
    // RFC 8950: an IPv4 route with an IPv6 next hop.
    expect(routes(4)['192.0.2.2/32']?.[0]?.nexthops[0]?.ip).toBe(speakerAddress[6]);
    expect(routes(6)['2001:db8::1/128']?.[0]?.nexthops[0]?.ip).toBe(speakerAddress[6]);
    expect(routes(6)['2001:db8::2/128']?.[0]).toMatchObject({ metric: 7, path: '64512 64512 64512' });

    await speaker.call('update', 'v4', ['192.0.2.9/32'], ['192.0.2.1/32', '2001:db8::1/128']);
    await until(
      () => [...prefixes(4), ...prefixes(6)],
      (all) => all.includes('192.0.2.9/32') && all.length === 4,
    );
    expect(prefixes(4)).toEqual(['192.0.2.2/32', '192.0.2.9/32', '198.51.100.0/24']);
    expect(prefixes(6)).toEqual(['2001:db8::2/128']);
    expect((await status('v4')).prefixesAdvertised).toEqual({ ipv4: 2, ipv6: 0 });
  });

  /** Returns the identifiers with which the paths of a prefix came. FRR leaves out an identifier that no path has. */
  const pathIds = (prefix: string): readonly (number | undefined)[] => {
    const { paths = [] } = show(`bgp ipv${prefix.includes(':') ? 6 : 4} unicast ${prefix}`) as { paths?: { addpathRxId?: number }[] };
    return paths.map(({ addpathRxId }) => addpathRxId);
  };

  test.each([
    ['1 to a router that takes additional paths', '', 1],
    ['no identifier to a router that does not', ` neighbor ${speakerAddress[4]} disable-addpath-rx\n`, undefined],
  ] as const)('BGP-128 with addPathSend each prefix goes out with %s, and its withdrawal too', async (_, setting, wanted) => {
    const lines = (families: readonly (4 | 6)[]): string =>
      families.map((family) => ` address-family ipv${family} unicast\n ${setting} exit-address-family\n`).join('');
    startRouter(router(neighbor(speakerAddress[4], 64512, [4, 6])) + (setting === '' ? '' : lines([4, 6])));
    await speaker.call('addPeer', {
      name: 'v4',
      address: routerAddress[4],
      families: [4, 6],
      addPathSend: [4, 6],
      nextHop: { ipv6: speakerAddress[6] },
    });
    await established('v4');
    const all = ['192.0.2.1/32', '198.51.100.0/24', '2001:db8::1/128', '2001:db8:7::/48'];
    await speaker.call('set', 'v4', all);
    const arrived = (expected: readonly string[]) =>
      until(
        () => [...prefixes(4), ...prefixes(6)],
        (seen) => seen.toSorted().join() === expected.toSorted().join(),
      );
    expect((await arrived(all)).toSorted()).toEqual(all.toSorted());
    expect(all.map(pathIds)).toEqual(all.map(() => [wanted]));
    // A withdrawal without the identifier that the announcement had would end the session or leave the path.
    await speaker.call('update', 'v4', [{ prefix: '198.51.100.0/24', med: 7 }], ['192.0.2.1/32', '2001:db8::1/128']);
    const left = ['198.51.100.0/24', '2001:db8:7::/48'];
    expect((await arrived(left)).toSorted()).toEqual(left.toSorted());
    await until(
      () => routes(4)['198.51.100.0/24']?.[0]?.metric,
      (metric) => metric === 7,
    );
    expect(left.map(pathIds)).toEqual(left.map(() => [wanted]));
    expect((await status('v4')).counters).toMatchObject({ established: 1 });
  });

  test.each([
    ['a router that takes them, one is withdrawn, the other stays', true],
    ['a router that takes one: it has the first, then the next', false],
  ] as const)('BGP-129 BGP-130 BGP-131 two paths of a prefix, each with its next hop, go to %s', async (_, takesSeveral) => {
    const refusal = takesSeveral ? '' : ` neighbor ${speakerAddress[4]} disable-addpath-rx\n`;
    const lines = ([4, 6] as const).map((family) => ` address-family ipv${family} unicast\n${refusal} exit-address-family\n`);
    startRouter(router(neighbor(speakerAddress[4], 64512, [4, 6])) + lines.join(''));
    await speaker.call('addPeer', {
      name: 'v4',
      address: routerAddress[4],
      families: [4, 6],
      addPathSend: [4, 6],
      nextHop: { ipv6: speakerAddress[6] },
    });
    await established('v4');
    const nets = { 4: '198.51.100.0/24', 6: '2001:db8:7::/48' } as const;
    const others = { 4: '10.99.0.77', 6: 'fd99::77' } as const;
    /** The paths at the router: identifier, next hop and MED, as FRR shows them. */
    const pathsOf = (family: 4 | 6): string[] => {
      const { paths = [] } = show(`bgp ipv${family} unicast ${nets[family]}`) as {
        paths?: { addpathRxId?: number; metric?: number; nexthops: { ip: string }[] }[];
      };
      return paths.map(({ addpathRxId = '-', metric, nexthops }) => `${addpathRxId} ${nexthops[0]?.ip} ${metric}`).toSorted();
    };
    const arrive = async (...expected: readonly (readonly [id: number, nextHops: Record<4 | 6, string>, med: number])[]): Promise<void> => {
      const wanted = (family: 4 | 6): string[] => {
        const shown = expected.map(([id, nextHops, med]) => `${takesSeveral ? id : '-'} ${nextHops[family]} ${med}`);
        return takesSeveral ? shown : shown.slice(0, 1);
      };
      for (const family of [4, 6] as const) {
        await until(
          () => pathsOf(family),
          (seen) => seen.join() === wanted(family).join(),
        );
        expect(pathsOf(family)).toEqual(wanted(family));
      }
    };
    const path = (family: 4 | 6, pathId: number, med: number, nextHop?: string) => ({
      prefix: nets[family],
      pathId,
      med,
      ...(nextHop === undefined ? {} : { nextHop }),
    });
    await speaker.call('set', 'v4', [path(4, 3, 30), path(4, 8, 80, others[4]), path(6, 3, 30), path(6, 8, 80, others[6])]);
    await arrive([3, speakerAddress, 30], [8, others, 80]);
    await speaker.call('update', 'v4', [path(4, 8, 81, others[4]), path(6, 8, 81, others[6])], []);
    await arrive([3, speakerAddress, 30], [8, others, 81]);
    // FRR asks for the routes again, and gets all paths. With stored routes it would not ask.
    const before = (await status('v4')).counters.sent.update;
    for (const family of [4, 6] as const) {
      const families = `address-family ipv${family} unicast`;
      vtysh('conf t', 'router bgp 65001', families, `no neighbor ${speakerAddress[4]} soft-reconfiguration inbound`);
      vtysh(`clear bgp ipv${family} unicast ${speakerAddress[4]} in`);
    }
    const { counters } = await until(
      () => status('v4'),
      (now) => now.counters.received.routeRefresh >= 2 && now.counters.sent.update >= before + (takesSeveral ? 4 : 2),
    );
    expect(counters.sent.update).toBe(before + (takesSeveral ? 4 : 2));
    await arrive([3, speakerAddress, 30], [8, others, 81]);
    const gone = ([4, 6] as const).map((family) => ({ prefix: nets[family], pathId: 3 }));
    await speaker.call('update', 'v4', [], gone);
    await arrive([8, others, 81]);
    expect(await status('v4')).toMatchObject({ counters: { established: 1 }, prefixesAdvertised: { ipv4: 1, ipv6: 1 } });
    await speaker.call('set', 'v4', []);
    await until(
      () => [...prefixes(4), ...prefixes(6)],
      (all) => all.length === 0,
    );
  });

  test('a route without a valid next hop is not announced, and the status says why', async () => {
    startRouter(withoutExtendedNextHop());
    await speaker.call('addPeer', { name: 'v4', address: routerAddress[4], families: [4, 6] });
    await speaker.call('addPeer', { name: 'v6', address: routerAddress[6], families: [4, 6] });
    for (const name of ['v4', 'v6']) {
      await established(name);
      await speaker.call('set', name, ['192.0.2.1/32', '2001:db8::1/128']);
    }
    await until(
      () => [...prefixes(4), ...prefixes(6)],
      (all) => all.length === 2,
    );
    expect(routes(4)['192.0.2.1/32']).toHaveLength(1);
    expect(routes(6)['2001:db8::1/128']).toHaveLength(1);
    expect((await status('v4')).notPossible).toEqual([
      { prefix: '2001:db8::1/128', why: expect.stringContaining('configure an IPv6 next hop') },
    ]);
    expect((await status('v6')).notPossible).toEqual([{ prefix: '192.0.2.1/32', why: expect.stringContaining('RFC 8950') }]);
  });

  test('FRR sees standard and large communities and gets the routes again after a route refresh', async () => {
    startRouter(bothSessions());
    await speaker.call('addPeer', { name: 'v4', address: routerAddress[4] });
    const communities = [
      { kind: 'standard', value: 64512 * 65536 + 100 },
      { kind: 'large', globalAdministrator: 64512, localData1: 1, localData2: 2 },
    ];
    await speaker.call('set', 'v4', [{ prefix: '192.0.2.1/32', communities }]);
    await until(
      () => prefixes(4),
      (all) => all.length === 1,
    );
    const detail = JSON.stringify(show('bgp ipv4 unicast 192.0.2.1/32'));
    expect(detail).toContain('64512:100');
    expect(detail).toContain('64512:1:2');
    const before = (await status('v4')).counters.sent.update;
    vtysh('conf t', 'router bgp 65001', 'address-family ipv4 unicast', `no neighbor ${speakerAddress[4]} soft-reconfiguration inbound`);
    vtysh(`clear bgp ipv4 unicast ${speakerAddress[4]} in`);
    const after = await until(
      () => status('v4'),
      ({ counters }) => counters.received.routeRefresh > 0 && counters.sent.update > before,
    );
    expect(after.counters.sent.update).toBeGreaterThan(before);
    expect(after.counters.flaps).toBe(0);
  });

  test.each([4, 6] as const)(
    'the IPv%i session comes up with the same MD5 password, and lastError explains a different one',
    async (family) => {
      startRouter(router(neighbor(speakerAddress[family], 64512, [family], 'right')));
      await speaker.call('addPeer', { name: 'tor', address: routerAddress[family], password: 'wrong' });
      const refused = await failed('tor');
      expect(refused.lastError).toContain('MD5 password may differ');
      expect(JSON.stringify(refused)).not.toContain('wrong');
      expect(sessionState(speakerAddress[family])).not.toBe('Established');
      await speaker.call('reconfigure', { name: 'tor', address: routerAddress[family], password: 'right' });
      expect((await established('tor')).state).toBe('Established');
      expect(await establishedAtFrr(family)).toBe('Established');
    },
  );

  test('the error names both AS numbers, whichever end notices the mismatch', async () => {
    startRouter(bothSessions());
    await speaker.call('addPeer', { name: 'ours', address: routerAddress[4], peerAsn: 65009 });
    await until(
      () => status('ours'),
      ({ lastError }) => lastError?.includes('peer says') === true,
    );
    expect((await status('ours')).lastError).toContain('peer says AS 65001, configured 65009');
    await speaker.call('addPeer', { name: 'theirs', address: routerAddress[6], localAsn: 64999 });
    expect((await failed('theirs')).lastError).toContain('OPEN Message Error: Bad Peer AS (2/2)');
  });

  test('the error says refused while FRR is dead; session and routes return with FRR', async () => {
    startRouter(bothSessions());
    await speaker.call('addPeer', { name: 'v4', address: routerAddress[4] });
    await speaker.call('set', 'v4', ['192.0.2.1/32']);
    await until(
      () => prefixes(4),
      (all) => all.length === 1,
    );
    await killRouter();
    const down = await until(
      () => status('v4'),
      ({ lastError }) => lastError?.includes('refused') === true,
    );
    expect(down.lastError).toContain('connection refused by 10.99.0.1 port 179');
    await speaker.call('update', 'v4', ['192.0.2.2/32'], ['192.0.2.1/32']);
    startRouter(bothSessions());
    await until(
      () => prefixes(4),
      (all) => all.length === 1,
    );
    expect(prefixes(4)).toEqual(['192.0.2.2/32']);
    expect((await status('v4')).counters).toMatchObject({ established: 2, flaps: 1 });
  });

  test('each end shows the shutdown message of the other', async () => {
    startRouter(bothSessions());
    await speaker.call('addPeer', { name: 'v4', address: routerAddress[4] });
    await established('v4');
    vtysh('conf t', 'router bgp 65001', `neighbor ${speakerAddress[4]} shutdown message switch upgrade`);
    const down = await until(
      () => status('v4'),
      ({ state }) => state !== 'Established',
    );
    expect(down.lastError).toContain('Administrative Shutdown (6/2): "switch upgrade"');
    vtysh('conf t', 'router bgp 65001', `no neighbor ${speakerAddress[4]} shutdown`);
    await established('v4');
    await speaker.call('stop', 'node drained');
    const heard = await until(
      () => vtysh(`show bgp neighbors ${speakerAddress[4]}`),
      (text) => text.includes('Notification received'),
    );
    expect(heard).toContain('Notification received (Cease/Administrative Shutdown)');
    // This version shows the text only in its log.
    const log = await until(
      () => readFileSync(routerLog(), 'utf8'),
      (text) => text.includes('node drained'),
    );
    expect(log).toContain('node drained');
  });

  test('ten thousand prefixes are announced and withdrawn in few UPDATEs', async () => {
    startRouter(bothSessions());
    await speaker.call('addPeer', { name: 'v4', address: routerAddress[4] });
    await established('v4');
    const received = (): number => {
      const peers = show('bgp ipv4 unicast summary')['peers'] as Record<string, { pfxRcd?: number }>;
      return peers[speakerAddress[4]]?.pfxRcd ?? 0;
    };
    await speaker.call('setMany', 'v4', 10_000);
    expect(await until(received, (count) => count === 10_000)).toBe(10_000);
    await speaker.call('set', 'v4', ['192.0.2.1/32']);
    expect(await until(received, (count) => count === 1)).toBe(1);
    const { counters } = await status('v4');
    expect(counters.flaps).toBe(0);
    // 13 UPDATEs carry ten thousand prefixes and 13 withdraw them, because prefixes are packed.
    expect(counters.sent.update).toBeLessThan(40);
  });

  test('the session stays up for several hold times', async () => {
    startRouter(bothSessions());
    await speaker.call('addPeer', { name: 'v4', address: routerAddress[4], holdTime: 9 });
    const { counters } = await established('v4');
    const later = await until(
      () => status('v4'),
      (now) => now.counters.received.keepalive >= counters.received.keepalive + 7 || now.counters.flaps > 0,
    );
    expect(later).toMatchObject({ state: 'Established', counters: { flaps: 0 } });
    expect(later.counters.sent.keepalive).toBeGreaterThan(6);
  });
});
