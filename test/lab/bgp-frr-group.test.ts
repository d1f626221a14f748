import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PeerGroupStatus, PeerStatus } from '../../src/bgp/index.ts';
import { run } from '../peers/link.ts';
import type { SpeakerProcess } from '../peers/speaker-process.ts';
import {
  killRouter,
  prefixes,
  routerAddress,
  sessionState,
  setUp,
  speakerAddress,
  speakerNamespace,
  startRouter,
  startSpeaker,
  tearDown,
  until,
  vtysh,
} from './bgp-frr-lab.ts';

/** FRR connects from an IPv4 and an IPv6 address to a speaker that knows ranges only. */
interface Group extends PeerGroupStatus {
  readonly members: readonly PeerStatus[];
}

const ranges = ['10.99.0.0/24', 'fd99::/64'];
const group = { name: 'tors', ranges, peerAsn: 65_001, password: 'right' };
const route = { 4: '192.0.2.1/32', 6: '2001:db8::1/128' } as const;

const router = (families: readonly (4 | 6)[], password: string): string => `
router bgp 65001
 bgp router-id 10.99.0.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 timers bgp 3 9
${families.map((family) => neighbor(family, password)).join('\n')}
`;

const neighbor = (family: 4 | 6, password: string): string => ` neighbor ${speakerAddress[family]} remote-as 64512
 neighbor ${speakerAddress[family]} timers connect 1
 neighbor ${speakerAddress[family]} password ${password}
 address-family ipv${family} unicast
  neighbor ${speakerAddress[family]} activate
 exit-address-family`;

describe('a peer group and FRR', () => {
  let speaker: SpeakerProcess;

  beforeAll(() => setUp());
  afterAll(() => tearDown());
  beforeEach(() => {
    speaker = startSpeaker({ listen: [{}] });
  });
  afterEach(async () => {
    await speaker.kill();
    await killRouter();
  });

  const droppedSegments = (): number => {
    const text = run('ip', 'netns', 'exec', speakerNamespace(), 'nstat', '-asz', 'TcpExtTCPMD5Failure');
    return Number(/TcpExtTCPMD5Failure\s+(\d+)/.exec(text)?.[1]);
  };
  const groupStatus = async (): Promise<Group | undefined> => ((await speaker.call('groups')) as Group[])[0];
  const established = async (): Promise<string[]> =>
    ((await groupStatus())?.members ?? []).filter(({ state }) => state === 'Established').map(({ name }) => name);
  const untilEstablished = (...names: string[]): Promise<string[]> =>
    until(established, (found) => found.toSorted().join() === names.join());

  test.each([4, 6] as const)(
    'BGP-122 the key of an IPv%i range signs the session of each router in it, and another key gets none',
    async (family) => {
      await speaker.call('addPeerGroup', group, Object.values(route));
      startRouter(router([family], 'wrong'));
      const name = `tors/${routerAddress[family]}`;
      // The kernel drops the segments with the wrong key, so the group sees no connection.
      expect(await until(droppedSegments, (count) => count > 1)).toBeGreaterThan(1);
      expect(await groupStatus()).toMatchObject({ added: 0, peers: 0 });
      vtysh('conf t', 'router bgp 65001', `neighbor ${speakerAddress[family]} password right`);
      expect(await untilEstablished(name)).toEqual([name]);
      await until(
        () => prefixes(family),
        (all) => all.length === 1,
      );
      expect(prefixes(family)).toEqual([route[family]]);
    },
  );

  test('BGP-123 a router beyond the maximum is refused, and gets its session when a member has gone', async () => {
    await speaker.call('addPeerGroup', { ...group, maximumPeers: 1, idleTime: 1 });
    startRouter(router([4], 'right'));
    expect(await untilEstablished(`tors/${routerAddress[4]}`)).toEqual([`tors/${routerAddress[4]}`]);
    vtysh('conf t', 'router bgp 65001', ...neighbor(6, 'right').split('\n'));
    const full = await until(groupStatus, (status) => (status?.refused.groupFull ?? 0) > 1);
    expect(full).toMatchObject({ peers: 1, established: 1, added: 1, maximumPeers: 1 });
    expect(full?.refused.groupFull).toBeGreaterThan(1);
    expect(sessionState(speakerAddress[6])).not.toBe('Established');
    expect(await established()).toEqual([`tors/${routerAddress[4]}`]);
    vtysh('conf t', 'router bgp 65001', `no neighbor ${speakerAddress[4]}`);
    expect(await untilEstablished(`tors/${routerAddress[6]}`)).toEqual([`tors/${routerAddress[6]}`]);
    expect(await groupStatus()).toMatchObject({ peers: 1, added: 2 });
  });
});
