import { formatAddress, type Address } from '../../net/address.ts';
import type { DirectReturnNode } from '../../net/direct-return.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { DataplaneError } from '../dataplane.ts';
import { pathCheckInterval } from './limits.ts';
import { itemKey, pathDifference, planPaths, tunnelItem, type PathPlan, type PathTable } from './paths.ts';
import { kernelRefusal } from './kernel-refusal.ts';
import { SerialQueue } from '../../system/serial-queue.ts';

export interface PathPorts {
  readonly paths: PathTable;
  readonly clock: Clock;
  readonly log: Log;
}

export interface PathEvents {
  /** Something that others had changed is as it should be again. */
  readonly repaired: (what: string) => void;
  /** `reaches` answers otherwise than before. */
  readonly changed: () => void;
}

const nothing: PathPlan = { items: [], byTarget: new Map() };

/**
 * Keeps the paths to other nodes in the kernel. New ones are there when `set` resolves, before any element leads to them; old ones
 * go with a later look, after the elements: a packet that is marked and finds no path is lost.
 */
export class PathSet {
  readonly #ports: PathPorts;
  readonly #events: PathEvents;
  #wanted = '';
  #plan = nothing;
  /** Keys of what the kernel has. */
  #present: ReadonlySet<string> = new Set();
  readonly #serial = new SerialQueue();
  #cancelCheck: Cancel | undefined;
  #begun = false;
  #closed = false;

  constructor(ports: PathPorts, events: PathEvents) {
    this.#ports = ports;
    this.#events = events;
  }

  /** Never rejects: what cannot be made is not reached. */
  setNode(node: DirectReturnNode | undefined): Promise<void> {
    const wanted = JSON.stringify(node, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)) ?? '';
    if (this.#begun && wanted === this.#wanted) return Promise.resolve();
    return this.#serial.run(async () => {
      this.#begun = true;
      this.#wanted = wanted;
      this.#plan = node === undefined ? nothing : planPaths(node);
      // What an earlier process has left is looked for later: nothing waits for it.
      if (node !== undefined) await this.#complete();
      this.#scheduleCheck();
    });
  }

  /** Packets can be routed to the node. */
  reaches(node: Address): boolean {
    const needs = this.#plan.byTarget.get(formatAddress(node));
    return needs?.every((item) => this.#present.has(itemKey(item))) === true;
  }

  /** Makes tunnels from these addresses; why that is not possible. */
  probe(addresses: readonly Address[]): Promise<string | undefined> {
    return this.#serial.run(() =>
      kernelRefusal(async () => {
        const { missing } = pathDifference(await this.#ports.paths.list(), addresses.map(tunnelItem));
        if (missing.length > 0) await this.#ports.paths.change(missing, []);
      }),
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelCheck?.();
    await this.#serial.idle();
  }

  /** After `close`. */
  async remove(): Promise<void> {
    const { paths } = this.#ports;
    await paths.change([], pathDifference(await paths.list(), []).extra);
  }

  /** Adds what is missing. Never rejects: what is not there then is not reached. */
  async #complete(): Promise<void> {
    const { paths, log } = this.#ports;
    const before = this.#reached();
    let missing = this.#plan.items;
    try {
      // A tunnel that is made anew takes with it what led through the old one: a second look finds that.
      for (let look = 0; look < 2; look++) {
        const difference = pathDifference(await paths.list(), this.#plan.items);
        missing = difference.missing;
        if (missing.length === 0) break;
        await paths.change(
          missing,
          difference.extra.filter(({ kind }) => kind === 'tunnel'),
        );
        missing = [];
      }
    } catch (error) {
      if (!(error instanceof DataplaneError)) throw error;
      log.warn({ error: error.message }, 'paths to other nodes cannot be made as a whole');
      const found = await paths.list().catch(() => []);
      missing = pathDifference(found, this.#plan.items).missing;
    }
    const lacking = new Set(missing.map(itemKey));
    this.#present = new Set(this.#plan.items.map(itemKey).filter((key) => !lacking.has(key)));
    if (this.#reached() !== before) this.#events.changed();
  }

  #reached(): string {
    return [...this.#plan.byTarget]
      .filter(([, needs]) => needs.every((item) => this.#present.has(itemKey(item))))
      .map(([node]) => node)
      .join();
  }

  #scheduleCheck(): void {
    this.#cancelCheck?.();
    if (this.#closed) return;
    this.#cancelCheck = this.#ports.clock.after(pathCheckInterval, () => {
      this.#serial
        .run(() => this.#check())
        .catch((error: unknown) => this.#ports.log.warn({ error: String(error) }, 'paths to other nodes could not be checked'))
        .finally(() => {
          if (this.#plan.items.length > 0) this.#scheduleCheck();
        });
    });
  }

  async #check(): Promise<void> {
    if (this.#closed) return;
    const { paths } = this.#ports;
    const { missing, extra } = pathDifference(await paths.list(), this.#plan.items);
    if (missing.length > 0) {
      const lost = missing.some((item) => this.#present.has(itemKey(item)));
      this.#present = new Set([...this.#present].filter((key) => !missing.some((item) => itemKey(item) === key)));
      await this.#complete();
      if (lost && this.#plan.items.every((item) => this.#present.has(itemKey(item)))) this.#events.repaired('paths to other nodes');
    }
    if (extra.length > 0) await paths.change([], extra);
  }
}
