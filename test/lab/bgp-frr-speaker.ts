import { PeerOptionsError, Speaker, linuxTransport, type PeerOptions, type Route } from '../../src/bgp/index.ts';
import { address } from '../../src/net/address.ts';
import { prefix } from '../../src/net/prefix.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';

/** The program that bgp-frr.test.ts runs inside a namespace: a speaker that is told over a pipe what to do. */
interface Call {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

const speaker = new Speaker({ clock: systemClock, random: systemRandom, transport: linuxTransport() });

type Plain = Record<string, unknown> & { name: string; address: string; nextHop?: Record<string, string> };

function options(plain: Plain): PeerOptions {
  const { address: text, nextHop = {}, ...rest } = plain;
  const hops = Object.fromEntries(Object.entries(nextHop).map(([family, hop]) => [family, address(hop)]));
  return {
    localAsn: 64512,
    peerAsn: 65001,
    routerId: address('10.99.0.2'),
    holdTime: 9,
    connectRetryTime: 1,
    shutdownRetryTime: 1,
    ...rest,
    address: address(text),
    nextHop: hops,
  };
}

const route = (plain: string | (Omit<Route, 'prefix'> & { prefix: string })): Route =>
  typeof plain === 'string' ? { prefix: prefix(plain) } : { ...plain, prefix: prefix(plain.prefix) };

const ipv4Host = (i: number): string => `10.${100 + Math.floor(i / 65536)}.${(i >> 8) & 255}.${i & 255}/32`;
const ipv6Host = (i: number): string => `2001:db8::${(i >> 16).toString(16)}:${(i & 0xffff).toString(16)}/128`;

function peer(name: string) {
  const peer = speaker.peer(name);
  if (peer === undefined) throw new Error(`no peer ${name}`);
  return peer;
}

const methods: Record<string, (...args: never[]) => unknown> = {
  addPeer: (plain: Plain) => void speaker.addPeer(options(plain)),
  removePeer: (name: string, reason?: string) => speaker.removePeer(name, reason),
  reconfigure: (plain: Plain) => peer(plain.name).reconfigure(options(plain)),
  set: (name: string, routes: string[]) => peer(name).routes.set(routes.map(route)),
  setMany: (name: string, count: number, families: readonly (4 | 6)[] = [4]) =>
    peer(name).routes.set(
      families.flatMap((family) => Array.from({ length: count }, (_, i) => ({ prefix: prefix(family === 4 ? ipv4Host(i) : ipv6Host(i)) }))),
    ),
  update: (name: string, announce: string[], withdraw: string[]) =>
    peer(name).routes.update({ announce: announce.map(route), withdraw: withdraw.map((text) => prefix(text)) }),
  status: (name: string) => peer(name).status(),
  stop: (message?: string) => speaker.stop(message === undefined ? {} : { message }),
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
