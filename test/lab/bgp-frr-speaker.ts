import process from 'node:process';
import { defined } from '../../src/lang/defined.ts';
import {
  formatAddress,
  formatPrefix,
  PeerOptionsError,
  Speaker,
  type PathInput,
  type PeerGroupOptions,
  type PeerOptions,
  type RouteInput,
  type SpeakerOptions,
  type StopOptions,
} from '../../src/bgp/index.ts';

/** The program that the suites of test/peers run in a namespace: a BGP speaker that takes calls over a pipe. */
interface Call {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

const [, , given = '{}'] = process.argv;
const speaker = new Speaker({ asn: 64512, routerId: '10.99.0.2', ...(JSON.parse(given) as SpeakerOptions) });

const options = (some: Partial<PeerOptions>): PeerOptions => ({
  peerAsn: 65001,
  holdTime: 9,
  connectRetryTime: 1,
  shutdownRetryTime: 1,
  ...some,
  name: some.name ?? 'peer',
});

const route = (plain: string | RouteInput): RouteInput => (typeof plain === 'string' ? { prefix: plain } : plain);

const ipv4Host = (i: number): string => `10.${100 + Math.floor(i / 65536)}.${(i >> 8) & 255}.${i & 255}/32`;
const ipv6Host = (i: number): string => `2001:db8::${(i >> 16).toString(16)}:${(i & 0xffff).toString(16)}/128`;

function peer(name: string) {
  const peer = speaker.peer(name);
  if (peer === undefined) throw new Error(`no peer ${name}`);
  return peer;
}

const methods: Record<string, (...args: never[]) => unknown> = {
  /** The routes are set before the session comes up, so that they are sent before the first End-of-RIB. */
  addPeer: (some: Partial<PeerOptions>, routes: (string | RouteInput)[] = []) =>
    speaker.addPeer(options(some)).routes.set(routes.map(route)),
  /** Every member gets these routes. */
  addPeerGroup: (some: PeerGroupOptions, routes: (string | RouteInput)[] = []) =>
    void speaker.addPeerGroup({ holdTime: 9, ...some }).onMember((member) => member.routes.set(routes.map(route))),
  groups: () => speaker.peerGroups.map((group) => ({ ...group.status(), members: group.peers.map((member) => member.status()) })),
  removePeer: (name: string, reason?: string) => speaker.removePeer(name, reason),
  reconfigure: (some: Partial<PeerOptions>) => peer(some.name ?? 'peer').reconfigure(options(some)),
  set: (name: string, routes: (string | RouteInput)[]) => peer(name).routes.set(routes.map(route)),
  setMany: (name: string, count: number, families: readonly (4 | 6)[] = [4]) =>
    peer(name).routes.set(
      families.flatMap((family) => Array.from({ length: count }, (_, i) => ({ prefix: family === 4 ? ipv4Host(i) : ipv6Host(i) }))),
    ),
  update: (name: string, announce: (string | RouteInput)[], withdraw: PathInput[]) =>
    peer(name).routes.update({ announce: announce.map(route), withdraw }),
  status: (name: string) => peer(name).status(),
  /** Returns the received routes as plain values: prefix, next hops and path in text. */
  received: (name: string) =>
    ([4, 6] as const).flatMap((family) =>
      [...peer(name).received(family)].map(({ prefix, nextHops, asPath, stale }) => ({
        prefix: formatPrefix(prefix),
        nextHops: nextHops.map(formatAddress),
        asPath: asPath.flatMap(({ asns }) => asns).join(' '),
        ...defined({ stale }),
      })),
    ),
  stop: (message?: string, mode?: StopOptions['mode']) => speaker.stop({ ...defined({ message, mode }) }),
};

process.on('message', (call: Call) => void answer(call));

async function answer({ id, method, args }: Call): Promise<void> {
  try {
    const value = await methods[method]?.(...(args as never[]));
    process.send?.({ id, value });
  } catch (error) {
    process.send?.({ id, error: error instanceof PeerOptionsError ? error.code : String(error) });
  }
}

process.on('disconnect', () => process.exit());
