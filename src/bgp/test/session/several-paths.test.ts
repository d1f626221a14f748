import { beforeEach, describe, expect, test } from 'vitest';
import { formatAddress, RouteError, type PeerOptions, type ReceivedRoute, type RouteInput } from '../../../../src/bgp/index.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { pair, type Pair } from '../two-speakers.ts';

const net = '198.51.100.0/24';
const path = (pathId: number, nextHop: string): RouteInput => ({ prefix: net, pathId, nextHop });
const paths = [path(2, '10.0.0.22'), path(5, '10.0.0.55')];

let both: Pair;
let ends: number;

const wait = (seconds: number): void => both.clock.advance(seconds * 1000);
const nameOf = ({ pathId, nextHops }: ReceivedRoute): string => `${pathId ?? '-'} via ${nextHops.map(formatAddress).join()}`;
/** The paths that the left speaker has received. */
const received = (): string[] => both.left.peer.receivedRoutes(prefix(net)).map(nameOf).toSorted();

/** Starts both speakers: the left one receives, the right one has the paths before the session begins. */
function start(left: Partial<PeerOptions> = { addPathReceive: [4] }, right: Partial<PeerOptions> = { addPathSend: [4] }): void {
  both.left.start({ import: { otherwise: 'accept' }, gracefulRestart: {}, ...left }, {});
  both.right.start({ passive: true, gracefulRestart: {}, ...right }, { listen: [{}] });
  both.right.speaker.rib.set(paths);
  both.left.peer.on('endOfRib', () => {
    ends++;
    expect(received().length).toBeGreaterThan(0);
  });
  wait(10);
  expect(both.left.state).toBe('Established');
}

beforeEach(() => {
  both = pair();
  ends = 0;
});

describe('several paths of a prefix', () => {
  test('BGP-129 arrive before End-of-RIB, change and go one by one', () => {
    start();
    const { rib } = both.right.speaker;
    expect([received(), ends]).toEqual([['2 via 10.0.0.22', '5 via 10.0.0.55'], 1]);
    rib.announce(path(5, '10.0.0.56'));
    rib.announce(path(9, '10.0.0.99'));
    wait(1);
    expect(received()).toEqual(['2 via 10.0.0.22', '5 via 10.0.0.56', '9 via 10.0.0.99']);
    rib.withdraw({ prefix: net, pathId: 2 });
    rib.withdraw(net); // no path has the identifier 1
    wait(1);
    expect(received()).toEqual(['5 via 10.0.0.56', '9 via 10.0.0.99']);
    const { routes } = both.right.peer;
    routes.update({ announce: [path(1, '10.0.0.11'), path(7, '10.0.0.77')] });
    wait(1);
    routes.update({
      withdraw: [
        { prefix: net, pathId: 9 },
        { prefix: net, pathId: 7 },
      ],
    });
    wait(1);
    expect(received()).toEqual(['1 via 10.0.0.11', '5 via 10.0.0.56', '9 via 10.0.0.99']);
    expect(both.right.peer.status()).toMatchObject({ prefixesAdvertised: { ipv4: 3 }, counters: { established: 1 } });
    expect(new Set([...both.right.peer.advertised(4)].map(({ pathId }) => pathId))).toEqual(new Set([1, 5, 9]));
    expect(both.right.peer.advertisedRoute(prefix(net), 5)?.nextHops.map(formatAddress)).toEqual(['10.0.0.56']);
    expect(ends).toBe(1);
  });

  test.each<[string, Partial<PeerOptions>, Partial<PeerOptions>]>([
    ['the peer does not take them', {}, { addPathSend: [4] }],
    ['this side does not send them', { addPathReceive: [4] }, {}],
  ])('BGP-130 become the one with the smallest identifier when %s', (_, left, right) => {
    start(left, right);
    expect([received(), ends]).toEqual([['- via 10.0.0.22'], 1]);
    both.right.speaker.rib.withdraw({ prefix: net, pathId: 2 });
    wait(1);
    expect(received()).toEqual(['- via 10.0.0.55']);
    expect(both.right.peer.status()).toMatchObject({ prefixesAdvertised: { ipv4: 1 }, notPossibleCount: 0 });
    expect([...both.right.peer.advertised(4)].map(({ pathId }) => pathId)).toEqual([undefined]);
  });

  test('BGP-131 with the address of the peer as next hop stays here, and the status says why', () => {
    start();
    both.right.speaker.rib.announce(path(3, '10.0.0.1'));
    wait(1);
    expect(received()).toEqual(['2 via 10.0.0.22', '5 via 10.0.0.55']);
    const why = 'its next hop is the address of this peer (RFC 4271 5.1.3)';
    expect(both.right.peer.status()).toMatchObject({ notPossible: [{ prefix: net, pathId: 3, why }], notPossibleCount: 1 });
  });

  test('are refused without a change when a list names one twice, or when a prefix would have too many', () => {
    start();
    const { rib } = both.right.speaker;
    const { routes } = both.right.peer;
    expect(() => rib.set([...paths, path(5, '10.0.0.1')])).toThrow('pathId: 5 comes twice for 198.51.100.0/24');
    expect(() => routes.update({ announce: [path(5, '10.0.0.1'), path(5, '10.0.0.3')] })).toThrow(RouteError);
    const full = Array.from({ length: 256 }, (_, n) => path(n + 1, '10.0.0.7'));
    rib.set(full);
    routes.set(full);
    const more = path(257, '10.0.0.7');
    expect(() => rib.announce(more)).toThrow('pathId: 198.51.100.0/24 has more than 256 paths');
    expect(() => routes.update({ announce: [more] })).toThrow('256 paths');
    rib.announce(path(256, '10.0.0.8'));
    rib.withdraw({ prefix: net, pathId: 1 });
    rib.announce(more);
    wait(1);
    expect(received()).toHaveLength(257);
  });
});
