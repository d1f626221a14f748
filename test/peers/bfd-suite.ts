import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { SessionOptions } from '../../src/bfd/index.ts';
import { until } from '../lab/until.ts';
import type { BfdDaemon, BfdDaemonKind, BfdDaemonOptions } from './bfd-daemon.ts';
import { BfdProcess } from './bfd-process.ts';
import { Link, linkLocalAddress, routerAddress, speakerAddress } from './link.ts';

const kinds = ['IPv4', 'IPv6', 'IPv6 link-local', 'multihop IPv4', 'multihop IPv6'] as const;
type Kind = (typeof kinds)[number];

/** Milliseconds; long, because these machines are shared. */
const longTimeout = 20_000;

/** The BFD tests that run with every daemon. */
export function bfdSuite(daemonKind: BfdDaemonKind): void {
  const isImpossible = (kind: Kind): boolean => kind.startsWith('multihop') && daemonKind.cannotMultihop !== undefined;

  describe.each(kinds.filter(isImpossible))(`${daemonKind.name}, BFD over %s`, (kind) => {
    const bench = new BfdBench(daemonKind, kind);
    beforeAll(() => bench.open());
    afterAll(() => bench.close());
    afterEach(({ task }) => bench.clear(task.result?.state === 'fail'));

    test(`the session does not come up: ${daemonKind.cannotMultihop}`, async () => {
      await bench.startBoth();
      await until('some packets were sent', async (note) => note((await bench.ours.session()).counters.sent) > 3, longTimeout);
      expect((await bench.ours.session()).counters.received).toBe(0);
    });
  });

  describe.each(kinds.filter((kind) => !isImpossible(kind)))(`${daemonKind.name}, BFD over %s`, (kind) => {
    const bench = new BfdBench(daemonKind, kind);
    beforeAll(() => bench.open());
    afterAll(() => bench.close());
    afterEach(({ task }) => bench.clear(task.result?.state === 'fail'));

    test('BFD-006 the session comes up on both sides and stays up', async () => {
      await bench.start();
      await until('some packets', async () => (await bench.ours.session()).counters.received > 10, longTimeout);
      await bench.expectNoFlap();
    });

    test('BFD-015 changed intervals on either side of a running session cause no flap', async () => {
      await bench.start();
      const changes = [
        ['ours', 100],
        ['theirs', 1000],
        ['ours', 1000],
        ['theirs', 100],
        ['ours', 300],
        ['theirs', 300],
      ] as const;
      for (const [whose, interval] of changes.filter(([side]) => side === 'ours' || daemonKind.restartsOnNewIntervals === undefined)) {
        if (whose === 'ours') await bench.setOurs({ transmitInterval: interval, receiveInterval: interval });
        else await bench.daemon.setInterval(interval);
        await until(
          `both sides use ${interval} ms of ${whose}`,
          async (note) => {
            const { advertised, remote, polling } = note(await bench.ours.session());
            return !polling && (whose === 'ours' ? advertised : remote).transmitInterval === interval;
          },
          longTimeout,
        );
      }
      await bench.expectNoFlap();
    });

    test('BFD-025 the session comes up again with a daemon that restarts its session for new intervals', async ({ skip }) => {
      skip(daemonKind.restartsOnNewIntervals === undefined, 'other intervals cause no flap');
      await bench.start();
      await bench.ours.changes();
      const { discriminator } = (await bench.ours.session()).remote;
      await bench.daemon.setInterval(500);
      await until(
        'the session is up again',
        async (note) => {
          const { state, remote } = note(await bench.ours.session());
          return state === 'Up' && remote.transmitInterval === 500 && remote.discriminator !== discriminator;
        },
        longTimeout,
      );
      expect((await bench.ours.changes())[0]).toMatchObject({ from: 'Up', to: 'Down' });
    });

    test('BFD-019 the session comes up with a passive daemon', async ({ skip }) => {
      skip(daemonKind.cannotBePassive !== undefined, daemonKind.cannotBePassive);
      await bench.start({ passive: true });
      expect(await bench.ours.session()).toMatchObject({ state: 'Up', counters: { ups: 1, downs: 0 } });
    });

    test('BFD-019 the session comes up when our side is passive', async ({ skip }) => {
      skip(daemonKind.alwaysPassive !== undefined, daemonKind.alwaysPassive);
      await bench.start({}, { passive: true });
      expect(await bench.ours.session()).toMatchObject({ state: 'Up', counters: { ups: 1, downs: 0 } });
    });

    test('BFD-016 both sides notice a cut wire; the time is printed', async () => {
      await bench.start({ interval: 100 }, { transmitInterval: 100, receiveInterval: 100 });
      await bench.ours.changes();
      const cut = Date.now();
      const restore = bench.link.dropEverything();
      await until(
        'both sides have noticed the cut',
        async () => (await bench.ours.session()).state !== 'Up' && (await bench.daemon.session()).state !== 'Up',
      );
      restore();
      const [down] = await bench.ours.changes();
      const took = Date.parse(down?.at ?? '') - cut;
      console.info(`${daemonKind.name}, ${kind}: a cut wire noticed ${took} ms after it was cut, at 100 ms x 3`);
      // One direction is cut a moment earlier, so the daemon may be the first to signal Down.
      expect(down).toMatchObject({ from: 'Up', to: 'Down' });
      expect([1, 3]).toContain(down?.diagnostic);
      await bench.untilUp();
    });

    test('BFD-021 BFD-025 a killed daemon is detected, and the session comes up with its successor', async () => {
      await bench.start();
      const before = await bench.ours.session();
      await bench.ours.changes();
      await bench.daemon.kill();
      await until('the loss is noticed', async () => (await bench.ours.session()).state !== 'Up');
      expect((await bench.ours.changes())[0]).toMatchObject({ to: 'Down', diagnostic: 1 });
      await bench.startDaemon();
      await bench.untilUp();
      expect((await bench.ours.session()).remote.discriminator).not.toBe(before.remote.discriminator);
    });

    test('BFD-020 the daemon follows our AdminDown, and the session comes up after it', async () => {
      await bench.start();
      await bench.setOurs({ adminDown: true });
      await until('the daemon is Down', async () => (await bench.daemon.session()).state === 'Down', longTimeout);
      await bench.setOurs();
      await bench.untilUp();
    });

    test("BFD-020 the daemon's AdminDown takes our session down as AdminDown", async ({ skip }) => {
      skip(daemonKind.cannotAdminDown !== undefined, daemonKind.cannotAdminDown);
      await bench.start();
      await bench.ours.changes();
      await bench.daemon.setAdminDown(true);
      await until('our session is Down', async () => (await bench.ours.session()).state === 'Down', longTimeout);
      expect((await bench.ours.changes())[0]).toMatchObject({ from: 'Up', to: 'Down', remoteState: 'AdminDown', diagnostic: 3 });
      await bench.daemon.setAdminDown(false);
      await bench.untilUp();
    });
  });
}

/** One daemon, our BFD process and the link between them. Daemon and process are new for every test. */
class BfdBench {
  readonly #daemonKind: BfdDaemonKind;
  readonly #kind: Kind;
  #link: Link | undefined;
  #daemon: BfdDaemon | undefined;
  #ours: BfdProcess | undefined;

  constructor(daemonKind: BfdDaemonKind, kind: Kind) {
    this.#daemonKind = daemonKind;
    this.#kind = kind;
  }

  get link(): Link {
    return present(this.#link);
  }

  get daemon(): BfdDaemon {
    return present(this.#daemon);
  }

  get ours(): BfdProcess {
    return present(this.#ours);
  }

  open(): void {
    this.#link = new Link('hp');
  }

  close(): void {
    this.#link?.close();
  }

  async clear(failed: boolean): Promise<void> {
    if (failed && this.#ours !== undefined) console.error(JSON.stringify(await this.#ours.status(), null, 2));
    await this.#ours?.kill();
    if (failed && this.#daemon !== undefined) console.error(`the daemon:\n${this.#daemon.log().slice(-4000)}`);
    await this.#daemon?.kill();
    this.#ours = undefined;
    this.#daemon = undefined;
  }

  /** Starts daemon and BFD process and waits until the session is up. */
  async start(daemonOptions: Partial<BfdDaemonOptions> = {}, options: Partial<SessionOptions> = {}): Promise<void> {
    await this.startBoth(daemonOptions, options);
    await this.untilUp();
  }

  async startBoth(daemonOptions: Partial<BfdDaemonOptions> = {}, options: Partial<SessionOptions> = {}): Promise<void> {
    await this.startDaemon(daemonOptions);
    this.#ours = new BfdProcess(this.link.speaker);
    await this.setOurs(options);
  }

  async startDaemon(options: Partial<BfdDaemonOptions> = {}): Promise<void> {
    const [local, remote] = this.#addresses();
    this.#daemon = await this.#daemonKind.start(this.link, { local, remote, multihop: this.#kind.startsWith('multihop'), ...options });
  }

  async setOurs(options: Partial<SessionOptions> = {}): Promise<void> {
    const [peer, localAddress] = this.#addresses();
    const refused = await this.ours.set({
      name: 'x',
      peer,
      ...(this.#kind === 'IPv6 link-local' ? { interface: 'v0' } : { localAddress }),
      ...(this.#kind.startsWith('multihop') ? { multihop: { minimumTtl: this.#daemonKind.multihopTtl } } : {}),
      ...options,
    });
    expect(refused).toEqual([]);
  }

  async untilUp(): Promise<void> {
    await until(
      'both sides are up',
      async (note) => {
        const states = note([(await this.ours.session()).state, (await this.daemon.session()).state]);
        return states.every((state) => state === 'Up');
      },
      longTimeout,
    );
  }

  async expectNoFlap(): Promise<void> {
    const { counters } = await this.ours.session();
    expect(counters).toMatchObject({ ups: 1, downs: 0 });
    const { state } = await this.daemon.session();
    expect(state).toBe('Up');
  }

  /** Returns the daemon's address and ours. */
  #addresses(): readonly [string, string] {
    if (this.#kind === 'IPv6 link-local') return [linkLocalAddress(this.link.router), linkLocalAddress(this.link.speaker)];
    const family = this.#kind.endsWith('4') ? 4 : 6;
    return [routerAddress[family], speakerAddress[family]];
  }
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the bench is not open');
  return value;
}
