// The walks compare very often: node:assert costs a tenth of `expect`.
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { address } from '../../../src/net/address.ts';
import { pair, type End, type Pair } from './two-speakers.ts';
import { runs } from '../../../test/support/property.ts';

type Side = 'left' | 'right';
type Command =
  | { readonly do: 'wait'; readonly milliseconds: number }
  | { readonly do: 'cut' | 'mend' }
  | { readonly do: 'restart' | 'crash' | 'lose' | 'stop' | 'adminDown' | 'adminUp' | 'changeHoldTime'; readonly side: Side }
  | { readonly do: 'announce'; readonly side: Side; readonly count: number };

const side = fc.constantFrom<Side>('left', 'right');
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('wait' as const), milliseconds: fc.constantFrom(0, 1, 2, 50, 900, 3_000, 12_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('cut' as const, 'mend' as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'restart' as const,
        'crash' as const,
        'lose' as const,
        'stop' as const,
        'adminDown' as const,
        'adminUp' as const,
        'changeHoldTime' as const,
      ),
      side,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('announce' as const), side, count: fc.nat(20) }) },
);

/** Two speakers that both dial and listen, and the commands that can be applied to them. */
class SpeakerPair {
  readonly pair: Pair;
  readonly wanted: Record<Side, number> = { left: 0, right: 0 };
  readonly #graceful: boolean;
  readonly #running: Record<Side, boolean> = { left: false, right: false };
  #mend: (() => void) | undefined;

  constructor(graceful: boolean) {
    this.pair = pair();
    this.#graceful = graceful;
    this.#start('left', false);
    this.#start('right', false);
  }

  async apply(next: Command): Promise<void> {
    const { clock, network, left, right } = this.pair;
    switch (next.do) {
      case 'wait':
        clock.advance(next.milliseconds);
        break;
      case 'cut':
        this.#mend ??= network.cut(left.host, right.host);
        break;
      case 'mend':
        this.mend();
        break;
      case 'announce':
        this.wanted[next.side] = next.count;
        if (this.#running[next.side]) this.#announce(next.side);
        break;
      case 'restart':
        if (this.#running[next.side]) void this.#end(next.side).speaker.stop({ mode: 'restart' });
        clock.advance(1_500);
        this.#start(next.side, true);
        break;
      case 'stop':
        if (this.#running[next.side]) void this.#end(next.side).speaker.stop({ message: 'bye' });
        clock.advance(1_500);
        this.#start(next.side, false);
        break;
      case 'crash':
        this.#abandon(next.side);
        this.#end(next.side).kill();
        this.#start(next.side, true);
        break;
      case 'lose':
        this.mend();
        this.#abandon(next.side);
        this.#end(next.side).loseMachine();
        this.#start(next.side, false);
        break;
      case 'adminDown':
      case 'adminUp':
        this.#reconfigure(next.side, { adminDown: next.do === 'adminDown' });
        break;
      case 'changeHoldTime':
        this.#reconfigure(next.side, { holdTime: 9 + (clock.now() % 3) });
        break;
    }
    await Promise.resolve();
    await Promise.resolve();
  }

  mend(): void {
    this.#mend?.();
    this.#mend = undefined;
  }

  async settle(): Promise<void> {
    this.mend();
    for (const which of ['left', 'right'] as const) this.#reconfigure(which, { adminDown: false });
    for (let i = 0; i < 40; i++) {
      await Promise.resolve();
      await Promise.resolve();
      this.pair.clock.advance(10_000);
    }
  }

  /** Checks the speakers' histories: two connections in Established at the same time would be two sessions. */
  check(): void {
    for (const end of [this.pair.left, this.pair.right]) {
      const established = { dialed: false, accepted: false };
      for (const { connection, to } of end.peer.history()) {
        established[connection] = to === 'Established';
        assert(!established.dialed || !established.accepted, 'two established connections');
      }
      // Connections can be: the one in use, one that collides with it, and those that still write their last NOTIFICATION.
      assert(end.host.connections < 8, `${end.host.connections} connections`);
    }
  }

  #end(which: Side): End {
    return this.pair[which];
  }

  #abandon(which: Side): void {
    // Stops the old speaker: the timers of a killed process would go on running in the test's process.
    void this.#end(which).speaker.stop();
  }

  #start(which: Side, restarted: boolean): void {
    this.#end(which).start(this.#graceful ? { gracefulRestart: {} } : {}, { listen: [{}], restarted });
    this.#running[which] = true;
    this.#announce(which);
  }

  #announce(which: Side): void {
    const count = this.wanted[which];
    const third = which === 'left' ? 1 : 2;
    this.#end(which).peer.routes.set(
      Array.from({ length: count }, (_, i) => ({ prefix: { address: address(`192.0.${third}.${i + 1}`), length: 32 } })),
    );
  }

  #reconfigure(which: Side, change: { adminDown?: boolean; holdTime?: number }): void {
    const { peer, options } = this.#end(which);
    peer.reconfigure({ ...options, ...(this.#graceful ? { gracefulRestart: {} } : {}), ...change });
  }
}

describe.each([false, true])('two speakers after any sequence of events, with graceful restart: %s', (graceful) => {
  test('BGP-033 BGP-059 two speakers never have two sessions, and end with one that has all routes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 25 }), async (commands) => {
        const world = new SpeakerPair(graceful);
        for (const next of commands) {
          await world.apply(next);
          world.check();
        }
        await world.settle();
        const { left, right } = world.pair;
        expect([left.state, right.state]).toEqual(['Established', 'Established']);
        expect([left.host.connections, right.host.connections]).toEqual([1, 1]);
        expect(left.peer.status().prefixesAdvertised.ipv4).toBe(world.wanted.left);
        expect(right.peer.status().prefixesAdvertised.ipv4).toBe(world.wanted.right);
        // No connection and no timer is left after both have stopped.
        void left.speaker.stop();
        void right.speaker.stop();
        world.pair.clock.advance(10_000);
        expect([left.host.connections, right.host.connections, world.pair.clock.pending]).toEqual([0, 0, 0]);
      }),
      { numRuns: runs(60) },
    );
  });
});

test('BGP-055 a thousand sessions that come and go leave no timer and no connection', async () => {
  const { clock, left, right } = pair();
  right.start();
  left.start();
  for (let i = 0; i < 1_000; i++) {
    left.peer.reconfigure({ ...left.options, adminDown: i % 2 === 0 });
    await Promise.resolve();
    clock.advance(1_500);
  }
  expect(left.peer.status().counters.established).toBeGreaterThan(100);
  void left.speaker.stop();
  void right.speaker.stop();
  clock.advance(10_000);
  expect([left.host.connections, right.host.connections, clock.pending]).toEqual([0, 0, 0]);
});
