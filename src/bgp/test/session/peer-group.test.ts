import { describe, expect, it } from 'vitest';
import { Speaker, type PeerGroupOptions } from '../../../../src/bgp/index.ts';
import { MemoryNetwork } from '../../../../src/bgp/transport/memory-network.ts';
import { MemoryTransport } from '../../../../src/bgp/transport/memory-transport.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { logInto } from '../scripted-router.ts';

const base: PeerGroupOptions = {
  name: 'nodes',
  ranges: ['10.1.0.0/24'],
  peerAsn: 'external',
  peerAsns: [{ from: 65_001, to: 65_010 }, 64_600],
};

interface Bed {
  readonly clock: VirtualClock;
  readonly hub: Speaker;
  /** The log of the hub. */
  readonly lines: readonly string[];
  /** Starts a speaker at this address that connects to the hub. */
  readonly node: (own: string, asn?: number) => Speaker;
}

function bed(): Bed {
  const clock = new VirtualClock();
  const network = new MemoryNetwork(clock, 1);
  const common = { clock, random: () => 0.999_999 };
  const lines: string[] = [];
  const hub = new Speaker({
    ...common,
    log: logInto(lines),
    asn: 64_512,
    routerId: '10.1.0.254',
    listen: [{}],
    transport: network.host([address('10.1.0.254')]),
  });
  return {
    clock,
    hub,
    lines,
    node: (own, asn = 65_001) => {
      const speaker = new Speaker({ ...common, asn, routerId: own.replace(/^10\.2/, '10.1'), transport: network.host([address(own)]) });
      speaker.addPeer({ address: '10.1.0.254', peerAsn: 64_512, sourceAddress: own });
      return speaker;
    },
  };
}

const names = ({ peers }: Speaker): string[] => peers.map(({ name }) => name).sort();
const stateOf = ({ peers }: Speaker): string | undefined => peers[0]?.status().state;
const lastErrorOf = ({ peers }: Speaker): string | undefined => peers[0]?.status().lastError;

describe('peer groups', () => {
  it('BGP-122 adds a passive peer for each connection from the range, with the routes of all peers', () => {
    const { clock, hub, node } = bed();
    const group = hub.addPeerGroup(base);
    hub.rib.set([{ prefix: '192.0.2.1/32' }]);
    const nodes = [node('10.1.0.1'), node('10.1.0.2', 65_010), node('10.1.0.3', 64_600)];
    clock.advance(2_000);
    expect(names(hub)).toEqual(['nodes/10.1.0.1', 'nodes/10.1.0.2', 'nodes/10.1.0.3']);
    expect(nodes.map(stateOf)).toEqual(['Established', 'Established', 'Established']);
    expect(nodes.map(({ peers }) => peers[0]?.status().prefixesReceived.ipv4)).toEqual([1, 1, 1]);
    expect(group.status()).toEqual({
      name: 'nodes',
      ranges: ['10.1.0.0/24'],
      maximumPeers: 100,
      peers: 3,
      established: 3,
      added: 3,
      refused: { groupFull: 0, speakerFull: 0 },
    });
    expect(hub.listening().strangers).toBe(0);
  });

  it('BGP-122 refuses an address outside the ranges', () => {
    const { clock, hub, node } = bed();
    hub.addPeerGroup(base);
    const stranger = node('10.2.0.1');
    clock.advance(2_000);
    expect(names(hub)).toEqual([]);
    expect(hub.listening().strangers).toBeGreaterThan(0);
    expect(stateOf(stranger)).not.toBe('Established');
  });

  it('BGP-122 refuses an AS outside the ranges with the allowed ones in words', () => {
    const { clock, hub, node } = bed();
    const group = hub.addPeerGroup(base);
    const wrong = node('10.1.0.1', 65_011);
    clock.advance(2_000);
    expect(stateOf(wrong)).not.toBe('Established');
    expect(lastErrorOf(wrong)).toContain('Bad Peer AS');
    expect(lastErrorOf(hub)).toContain('peer says AS 65011, configured 65001-65010, 64600');
    expect(group.status()).toMatchObject({ peers: 1, established: 0 });
  });

  it('BGP-123 refuses further connections when the group is full, and counts them', () => {
    const { clock, hub, node } = bed();
    const group = hub.addPeerGroup({ ...base, maximumPeers: 2 });
    node('10.1.0.1');
    node('10.1.0.2');
    clock.advance(2_000);
    const third = node('10.1.0.3');
    clock.advance(2_000);
    expect(names(hub)).toEqual(['nodes/10.1.0.1', 'nodes/10.1.0.2']);
    expect(stateOf(third)).not.toBe('Established');
    expect(group.status().refused.groupFull).toBeGreaterThan(0);
  });

  it('logs at most one line a minute about refused connections, with their number', () => {
    const { clock, hub, lines, node } = bed();
    const group = hub.addPeerGroup({ ...base, maximumPeers: 1 });
    node('10.1.0.1');
    clock.advance(2_000);
    node('10.1.0.2');
    const refusals = (): string[] => lines.filter((line) => line.includes('because it is full'));
    clock.advance(59_000);
    expect(group.status().refused.groupFull).toBeGreaterThan(1);
    expect(refusals()).toHaveLength(1);
    expect(refusals()[0]).toContain('{"group":"nodes","address":"10.1.0.2","refused":{"groupFull":1,"speakerFull":0}}');
    clock.advance(20_000);
    expect(refusals()).toHaveLength(2);
  });

  it('BGP-123 removes a member that had no session for the idle time, and takes it again later', async () => {
    const { clock, hub, node } = bed();
    const group = hub.addPeerGroup({ ...base, idleTime: 60 });
    const first = node('10.1.0.1');
    clock.advance(2_000);
    void first.stop();
    clock.advance(59_000);
    expect(group.status()).toMatchObject({ peers: 1, established: 0 });
    clock.advance(2_000);
    expect(group.status()).toMatchObject({ peers: 0, added: 1 });
    expect(names(hub)).toEqual([]);
    const again = node('10.1.0.1');
    clock.advance(2_000);
    expect(stateOf(again)).toBe('Established');
    clock.advance(3_600_000);
    expect(group.status()).toMatchObject({ peers: 1, established: 1, added: 2 });
  });

  it('keeps a member while its restart time lasts', () => {
    const { clock, hub, node } = bed();
    const group = hub.addPeerGroup({ ...base, idleTime: 1, gracefulRestart: { restartTime: 300 } });
    const first = node('10.1.0.1');
    clock.advance(2_000);
    void first.stop();
    clock.advance(290_000);
    expect(group.status().peers).toBe(1);
    clock.advance(20_000);
    expect(group.status().peers).toBe(0);
  });

  it('prefers a configured peer, and the group with the longest range', () => {
    const { clock, hub, node } = bed();
    hub.addPeerGroup(base);
    hub.addPeerGroup({ ...base, name: 'few', ranges: ['10.1.0.0/30'] });
    hub.addPeer({ address: '10.1.0.2', peerAsn: 65_001, passive: true });
    for (const own of ['10.1.0.1', '10.1.0.2', '10.1.0.9']) node(own);
    clock.advance(2_000);
    expect(names(hub)).toEqual(['10.1.0.2', 'few/10.1.0.1', 'nodes/10.1.0.9']);
  });

  it('removes its members with the group', async () => {
    const { clock, hub, node } = bed();
    const group = hub.addPeerGroup(base);
    const first = node('10.1.0.1');
    clock.advance(2_000);
    const removed = group.remove('maintenance');
    clock.advance(2_000);
    await removed;
    expect([names(hub), hub.peerGroups]).toEqual([[], []]);
    expect(lastErrorOf(first)).toContain('maintenance');
    clock.advance(60_000);
    expect(names(hub)).toEqual([]);
  });

  it('sets one TCP MD5 key for each range', () => {
    const clock = new VirtualClock();
    const transport = new MemoryTransport(clock);
    const hub = new Speaker({ clock, random: () => 0.5, transport, asn: 64_512, routerId: '10.1.0.254', listen: [{}] });
    hub.addPeerGroup({ ...base, ranges: ['10.1.0.0/24', '2001:db8::/64'], password: 'secret' });
    expect(transport.keys.map(({ prefix, password }) => `${formatPrefix(prefix)} ${password}`)).toEqual([
      '10.1.0.0/24 secret',
      '2001:db8::/64 secret',
    ]);
    clock.advance(0);
    transport.connectFrom(address('10.1.0.7'));
    expect(hub.peers.map((peer) => peer.status().address)).toEqual([formatAddress(address('10.1.0.7'))]);
    hub.addPeer({ address: '10.9.0.1', peerAsn: 65_001, password: 'other' });
    expect(transport.keys.map(({ prefix }) => formatPrefix(prefix))).toEqual(['10.9.0.1/32', '10.1.0.0/24', '2001:db8::/64']);
  });

  it.each<[Partial<PeerGroupOptions> & Record<string, unknown>, object]>([
    [{ name: '' }, { code: 'ERR_BGP_PEER_GROUP', field: 'name' }],
    [{ ranges: [] }, { code: 'ERR_BGP_PEER_GROUP', field: 'ranges' }],
    [{ ranges: ['10.1.0.0/33'] }, { code: 'ERR_BGP_PEER_GROUP', field: 'ranges' }],
    [{ ranges: ['fe80::/64'] }, { code: 'ERR_BGP_PEER_GROUP', field: 'ranges' }],
    [{ maximumPeers: 0 }, { code: 'ERR_BGP_PEER_GROUP', field: 'maximumPeers' }],
    [{ maximumPeers: 1_025 }, { code: 'ERR_BGP_PEER_GROUP', field: 'maximumPeers' }],
    [{ idleTime: 0 }, { code: 'ERR_BGP_PEER_GROUP', field: 'idleTime' }],
    [{ holdTime: 1 }, { code: 'ERR_BGP_PEER_OPTIONS', field: 'holdTime' }],
    [{ peerAsns: [{ from: 10, to: 5 }] }, { code: 'ERR_BGP_PEER_OPTIONS', field: 'peerAsns' }],
    [{ rangs: ['10.1.0.0/24'] }, { code: 'ERR_BGP_UNKNOWN_OPTION', nearest: 'ranges' }],
    [{ address: '10.1.0.1' }, { code: 'ERR_BGP_UNKNOWN_OPTION', option: 'address' }],
  ])('refuses the options %o', (change, error) => {
    const { hub } = bed();
    expect(() => hub.addPeerGroup({ ...base, ...change })).toThrow(expect.objectContaining(error));
    expect(hub.peerGroups).toEqual([]);
  });

  it('refuses a name that is taken, and a speaker that does not listen', () => {
    const { hub } = bed();
    hub.addPeerGroup(base);
    expect(() => hub.addPeerGroup(base)).toThrow(expect.objectContaining({ code: 'ERR_BGP_PEER_EXISTS' }));
    hub.listen([]);
    expect(() => hub.addPeerGroup({ ...base, name: 'other' })).toThrow(expect.objectContaining({ code: 'ERR_BGP_PASSIVE_UNSUPPORTED' }));
  });
});
