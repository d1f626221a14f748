import { monitorEventLoopDelay } from 'node:perf_hooks';
import { linuxTransport, Speaker, type Peer, type PeerOptions, type Route, type RouteInput } from '../../../src/bgp/index.ts';
import { address } from '../../../src/net/address.ts';
import { formatPrefix, hostPrefix } from '../../../src/net/prefix.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { systemRandom } from '../../../src/system/random.ts';
import { manyPeersAddress, senderAddress, receiverAsn, senderAsn } from './addresses.ts';
import { answerCalls } from '../../../test/bench/runner/caller.ts';

/** The process that the benchmark measures: a speaker with one peer or many, and nothing else. */
const speaker = new Speaker({ clock: systemClock, random: systemRandom, transport: linuxTransport() });
let options: PeerOptions | undefined;
let peer: Peer | undefined;

/** 10.100.0.0 */
const firstAddress = (10n << 24n) + (100n << 16n);

/** Routes are created while they are read, so that the memory of this process is the speaker's and not its caller's. */
const routes = (count: number): Iterable<Route> => ({
  *[Symbol.iterator]() {
    for (let n = 0; n < count; n++) yield { prefix: hostPrefix({ family: 4, value: firstAddress + BigInt(n) }) };
  },
});

const textRoutes = (count: number): Iterable<RouteInput> => ({
  *[Symbol.iterator]() {
    for (const { prefix } of routes(count)) yield { prefix: formatPrefix(prefix) };
  },
});

const turnResolution = 1;
const turns = monitorEventLoopDelay({ resolution: turnResolution });

answerCalls({
  addPeer(where: string, adminDown: boolean, holdTime?: number) {
    options = {
      name: 'receiver',
      address: address(where),
      localAsn: senderAsn,
      peerAsn: receiverAsn,
      routerId: address(senderAddress),
      connectRetryTime: 1,
      adminDown,
      ...(holdTime === undefined ? {} : { holdTime }),
    };
    peer = speaker.addPeer(options);
  },
  addPeers(count: number) {
    for (let n = 0; n < count; n++) {
      speaker.addPeer({
        name: `peer${n}`,
        address: address(manyPeersAddress(n)),
        localAsn: senderAsn,
        peerAsn: receiverAsn,
        routerId: address(senderAddress),
        connectRetryTime: 1,
      });
    }
  },
  setForAll: (count: number) => speaker.rib.set(routes(count)),
  setText: (count: number) => speaker.rib.set(textRoutes(count)),
  /** Returns the longest turn of the event loop since the last call, in milliseconds. The first call begins to measure. */
  async longestTurn() {
    turns.enable();
    // A turn counts when the timer of the measurement runs after it.
    await new Promise((resolve) => setTimeout(resolve, 20));
    const longest = Math.max(0, turns.max / 1e6 - turnResolution);
    turns.reset();
    return longest;
  },
  changeForAll: (med: number) => speaker.rib.announce({ prefix: hostPrefix({ family: 4, value: firstAddress }), med }),
  set: (count: number) => peer?.routes.set(routes(count)),
  open() {
    if (options !== undefined) peer?.reconfigure({ ...options, adminDown: false });
  },
  status: () => peer?.status(),
  /** Changes the MED of one prefix every few milliseconds. Returns the time of each change. */
  async changes(count: number, pauseMilliseconds: number) {
    const times: string[] = [];
    const changing: Route = { prefix: hostPrefix({ family: 4, value: firstAddress }) };
    for (let n = 1; n <= count; n++) {
      await new Promise((resolve) => setTimeout(resolve, pauseMilliseconds + Math.random()));
      times.push(String(process.hrtime.bigint()));
      peer?.routes.update({ announce: [{ ...changing, med: n }] });
    }
    return times;
  },
});
