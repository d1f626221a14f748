import type { BgpComponents } from '../../options/components.ts';
import { bmpInitiation, bmpTermination, bmpTerminationReason } from '../../wire/bmp/bmp-codes.ts';
import { bmpText, encodeBmpMessage } from '../../wire/bmp/bmp-message.ts';
import type { ResolvedBmp } from './bmp-options.ts';
import { Collector, type BmpStatus } from './collector.ts';
import { MonitoredPeer } from './monitored-peer.ts';
import type { MonitoredSession } from '../../session/monitored-session.ts';
import { octets, u16 } from '../../wire/writer.ts';

/**
 * Reports the sessions and routes of a speaker to a collector by the BGP Monitoring Protocol (RFC 7854, RFC 8671). Without a connection it
 * watches no session. With one, changes are sent in the turn in which they come and never wait, and the present routes follow in parts, as fast
 * as the collector reads.
 */
export class BmpExporter {
  readonly #components: Omit<BgpComponents, 'store'>;
  readonly #options: ResolvedBmp;
  readonly #sessions = new Map<string, MonitoredSession>();
  readonly #collector: Collector;
  readonly #peers = new Map<string, MonitoredPeer>();
  /** Messages that the collector still has to get, a part with each step. */
  #tasks: Generator<void, void>[] = [];
  #isScheduled = false;
  #cancelStatistics: (() => void) | undefined;

  constructor(components: Omit<BgpComponents, 'store'>, options: ResolvedBmp) {
    this.#components = components;
    this.#options = options;
    this.#collector = new Collector(components, options, {
      connected: () => this.#begin(),
      lost: () => this.#end(),
      drained: () => this.#continue(),
      overrun: () => termination(bmpTerminationReason.outOfResources),
    });
    components.clock.after(0, () => this.#start());
  }

  status(): BmpStatus {
    return this.#collector.status();
  }

  add(name: string, session: MonitoredSession): void {
    this.#sessions.set(name, session);
    if (this.#collector.isConnected) this.#watch(name, session);
  }

  /** The peer is gone. Its session has ended before. */
  remove(name: string): void {
    this.#sessions.delete(name);
    this.#peers.get(name)?.end();
    this.#peers.delete(name);
  }

  /** Ends the connection for good, with the reason that the speaker stops. The sessions have ended before. Resolves when it is closed. */
  async stop(): Promise<void> {
    this.#end();
    await this.#collector.stop(termination(bmpTerminationReason.administrativelyClosed));
  }

  #start(): void {
    if (this.#collector.status().state !== 'stopped') this.#collector.start();
  }

  #begin(): void {
    const { systemDescription, systemName, statisticsTime } = this.#options;
    const information = [bmpText(bmpInitiation.systemDescription, systemDescription), bmpText(bmpInitiation.systemName, systemName)];
    this.#collector.send(encodeBmpMessage({ kind: 'initiation', information }));
    for (const [name, session] of this.#sessions) {
      if (!this.#collector.isConnected) return; // it does not read even this
      const peer = this.#watch(name, session);
      peer.beginPresent();
      this.#tasks.push(peer.present());
    }
    if (statisticsTime > 0) this.#scheduleStatistics(statisticsTime * 1000);
    this.#continue();
  }

  #watch(name: string, session: MonitoredSession): MonitoredPeer {
    const { clock } = this.#components;
    const { views } = this.#options;
    const peer = new MonitoredPeer({ clock, session, views, send: (message) => this.#collector.send(message) });
    this.#peers.get(name)?.end();
    this.#peers.set(name, peer);
    return peer;
  }

  #end(): void {
    this.#cancelStatistics?.();
    for (const peer of this.#peers.values()) peer.end();
    this.#peers.clear();
    this.#tasks = [];
  }

  #scheduleStatistics(milliseconds: number): void {
    this.#cancelStatistics = this.#components.clock.after(milliseconds, () => {
      // A report that still waits is not followed by another.
      if (this.#tasks.length === 0) this.#tasks.push(statisticsOf([...this.#peers.values()]));
      this.#scheduleStatistics(milliseconds);
      this.#continue();
    });
  }

  /** Does one part in each turn, unless the collector is behind. */
  #continue(): void {
    if (this.#isScheduled || this.#tasks.length === 0 || !this.#collector.hasRoom) return;
    this.#isScheduled = true;
    this.#components.clock.after(0, () => {
      this.#isScheduled = false;
      const [task] = this.#tasks;
      if (task?.next().done === true && this.#tasks[0] === task) this.#tasks.shift();
      this.#continue();
    });
  }
}

function* statisticsOf(peers: readonly MonitoredPeer[]): Generator<void, void> {
  for (const peer of peers) {
    peer.sendStatistics();
    yield;
  }
}

const termination = (reason: number): Uint8Array =>
  encodeBmpMessage({ kind: 'termination', information: [{ type: bmpTermination.reason, value: octets(u16(reason)) }] });
