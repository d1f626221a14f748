import type { TestContext } from 'vitest';
import type { PeerOptions, PeerStatus, SpeakerOptions } from '../../src/bgp/index.ts';
import { until } from '../lab/until.ts';
import type { Daemon, DaemonKind, DaemonOptions, Family, Feature } from './daemon.ts';
import { Link, routerAddress, speakerAddress } from './link.ts';
import { startSpeaker, type SpeakerProcess } from './speaker-process.ts';

/** Milliseconds; long, because these machines are shared. */
export const longTimeout = 40_000;

type SpeakerStart = SpeakerOptions & { readonly routes?: readonly string[] };

/** One daemon, one speaker and the link between them, over one address family. Daemon and speaker are new for every test. */
export class Bench {
  readonly kind: DaemonKind;
  readonly family: Family;
  /** The options of our speaker's peer, unless a test overrides them. */
  readonly peerOptions: Partial<PeerOptions>;
  #link: Link | undefined;
  #daemon: Daemon | undefined;
  #speaker: SpeakerProcess | undefined;

  constructor(kind: DaemonKind, family: Family) {
    this.kind = kind;
    this.family = family;
    this.peerOptions = {
      address: routerAddress[family],
      families: [4, 6],
      nextHop: { ipv4: speakerAddress[4], ipv6: speakerAddress[6] },
    };
  }

  get link(): Link {
    if (this.#link === undefined) throw new Error('the bench is not open');
    return this.#link;
  }

  open(): void {
    this.#link = new Link('hp');
  }

  close(): void {
    this.#link?.close();
  }

  /** Ends daemon and speaker after a test. Prints the daemon's last error when the test failed. */
  async clear(failed: boolean): Promise<void> {
    await this.#speaker?.kill();
    if (failed && this.#daemon !== undefined) console.error(`the daemon:\n${(await this.#daemon.lastError()).slice(-4000)}`);
    await this.#daemon?.kill();
    this.#speaker = undefined;
    this.#daemon = undefined;
  }

  /** Skips a test whose feature the daemon lacks, and prints the reason. */
  skipUnlessSupported(feature: Feature, { skip }: TestContext): void {
    const why = this.kind.lacks[feature];
    skip(why !== undefined, why);
  }

  async startDaemon(options: Omit<DaemonOptions, 'family'> = {}): Promise<Daemon> {
    const daemon = await this.kind.start(this.link, { family: this.family, ...options });
    this.#daemon = daemon;
    return daemon;
  }

  /** Starts the speaker with its routes, which it has before the session is up. */
  async startSpeaker(options: Partial<PeerOptions> = {}, { routes = [], ...speakerOptions }: SpeakerStart = {}): Promise<SpeakerProcess> {
    const speaker = startSpeaker(this.link.speaker, speakerOptions);
    this.#speaker = speaker;
    const { address, ...unnumbered } = this.peerOptions;
    await speaker.call('addPeer', { ...unnumbered, ...(options.interface === undefined ? { address } : {}), ...options }, routes);
    return speaker;
  }

  /** Starts daemon and speaker and waits for the session. */
  async start(
    daemonOptions: Omit<DaemonOptions, 'family'> = {},
    peerOptions: Partial<PeerOptions> = {},
    speakerOptions: SpeakerStart = {},
  ): Promise<{ daemon: Daemon; speaker: SpeakerProcess }> {
    const daemon = await this.startDaemon(daemonOptions);
    const speaker = await this.startSpeaker(peerOptions, speakerOptions);
    await bothEstablished(daemon, speaker);
    return { daemon, speaker };
  }
}

export const statusOf = async (speaker: SpeakerProcess): Promise<PeerStatus> => (await speaker.call('status', 'peer')) as PeerStatus;

export async function bothEstablished(daemon: Daemon, speaker: SpeakerProcess, milliseconds = longTimeout): Promise<void> {
  await until(
    'both sides say Established',
    async (note) => {
      const { state, lastError } = await statusOf(speaker);
      const seen = note({ daemon: (await daemon.established()) ? 'Established' : 'not established', speaker: state, lastError });
      return seen.daemon === 'Established' && seen.speaker === 'Established';
    },
    milliseconds,
  );
}

/** Waits until the daemon has exactly these routes from us. */
export async function expectRoutes(daemon: Daemon, expected: readonly string[]): Promise<void> {
  const wanted = expected.toSorted().join(' ');
  await until(
    `the daemon has ${wanted || 'no routes'}`,
    async (note) => note([...(await daemon.paths(4)).keys(), ...(await daemon.paths(6)).keys()].toSorted().join(' ')) === wanted,
    longTimeout,
  );
}

export async function expectCount(daemon: Daemon, family: Family, expected: number): Promise<void> {
  await until(`${expected} IPv${family} prefixes`, async (note) => note(await daemon.count(family)) === expected, 40_000);
}
