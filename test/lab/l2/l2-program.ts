import { closeSync, openSync } from 'node:fs';
import process from 'node:process';
import { Bfd } from '../../../src/bfd/index.ts';
import { L2, type AddressChanges, type L2Event, type PeerSession, type Table } from '../../../src/l2/index.ts';

/** The program that the L2 suites run inside a namespace: the library, and BFD with the peers that it is told. It takes calls over a pipe. */
interface Call {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

const [, , given = '{}'] = process.argv;
const { realTime = false } = JSON.parse(given) as { realTime?: boolean };
const l2 = new L2({ realTime });
const events: L2Event[] = [];
l2.onEvent((event) => void events.push(event));
let bfd: Bfd | undefined;

const methods: Record<string, (...args: never[]) => unknown> = {
  started: () => l2.started(),
  set: (table: Table) => l2.set(table),
  change: (changes: AddressChanges) => l2.change(changes),
  session: (name: string, state: PeerSession) => l2.sessionChanged(name, state),
  status: () => l2.status(),
  announceAgain: (networkInterface: string) => l2.announceAgain(networkInterface),
  /** Returns the events since the last call. */
  events: () => events.splice(0),
  /** Runs BFD with these peers, at 50 ms, under the names of the sessions. */
  bfd: async (sessions: readonly { readonly name: string; readonly peer: string }[]) => {
    bfd = new Bfd({ realTime });
    bfd.onChange((name, { to }) => l2.sessionChanged(name, to === 'Up' ? 'Up' : to === 'AdminDown' ? 'AdminDown' : 'Down'));
    return bfd.set(
      sessions.map((session) => ({ ...session, interface: 'v0', transmitInterval: 50, receiveInterval: 50, detectMultiplier: 3 })),
    );
  },
  /** Holds 10,000 addresses on v0 and reports what it took. */
  claimMany: (count: number, mac: string) => claimMany(count, mac),
  /** Keeps the main thread at work for this many milliseconds. */
  block: (milliseconds: number) => {
    const end = performance.now() + milliseconds;
    while (performance.now() < end);
  },
  /** The main thread sleeps until another process opens this named pipe for writing. */
  hang: (pipe: string) => closeSync(openSync(pipe, 'r')),
  stop: () => Promise.all([bfd?.stop(), l2.stop()]),
  exit: () => void setImmediate(() => process.exit()),
};

async function claimMany(count: number, mac: string): Promise<{ readonly milliseconds: number; readonly cpu: number }> {
  const addresses = Array.from({ length: count }, (_, at) => ({
    address: `10.200.${at >> 8}.${at & 255}`,
    interface: 'v0',
    candidates: ['n0'],
    everHeld: true,
  }));
  const [began, used] = [performance.now(), process.cpuUsage()];
  await l2.set({ node: 'n0', links: [{ interface: 'v0', mac, peers: [] }], addresses });
  for (;;) {
    const { announcements } = await l2.counters();
    if (announcements >= 2 * count) break;
    await new Promise((resolve) => void setTimeout(resolve, 10));
  }
  const { user, system } = process.cpuUsage(used);
  return { milliseconds: performance.now() - began, cpu: (user + system) / 1000 };
}

process.on('message', (call: Call) => void answer(call));

async function answer({ id, method, args }: Call): Promise<void> {
  try {
    process.send?.({ id, value: await methods[method]?.(...(args as never[])) });
  } catch (error) {
    process.send?.({ id, error: String(error) });
  }
}

process.on('disconnect', () => process.exit());
