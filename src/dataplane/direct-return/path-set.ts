import { formatAddress, type Address } from '../../net/address.ts';
import type { DirectReturnNode } from '../../net/direct-return.ts';
import { DataplaneError } from '../dataplane.ts';
import { KernelSet, type KernelSetPorts } from '../kernel-set.ts';
import { pathCheckInterval } from './limits.ts';
import { itemKey, pathDifference, planPaths, tunnelItem, type PathItem, type PathPlan, type PathTable } from './paths.ts';
import { kernelRefusal } from './kernel-refusal.ts';

export interface PathPorts extends KernelSetPorts {
  readonly paths: PathTable;
}

export interface PathEvents {
  /** Called after something that another program had changed is restored. */
  readonly repaired: (what: string) => void;
  /** Called when the result of `reaches` changes for some node, and when the last tunnel is gone. */
  readonly changed: () => void;
}

const nothing: PathPlan = { items: [], byTarget: new Map() };

/**
 * Keeps the paths to other nodes in the kernel. New paths exist when `setNode` resolves, before any element uses them. Old paths are
 * removed in a later check, after the elements: a marked packet without a path is lost.
 */
export class PathSet extends KernelSet<PathPorts> {
  readonly #events: PathEvents;
  #wanted = '';
  #plan = nothing;
  /** Keys of the items that the kernel has. */
  #present: ReadonlySet<string> = new Set();
  #tunnels = false;
  /** Callers that are about to create tunnels. */
  #expecting = 0;
  #looked = false;
  #begun = false;

  constructor(ports: PathPorts, events: PathEvents) {
    super(ports, { what: 'paths to other nodes', interval: pathCheckInterval, level: 'warn' });
    this.#events = events;
  }

  /** True: there may be a tunnel, which can receive packets. */
  get hasTunnels(): boolean {
    return this.#tunnels;
  }

  /** Looks for tunnels of an earlier process. Never rejects: where this cannot be told, there may be one. */
  async findTunnels(): Promise<void> {
    if (this.#looked) return;
    this.#looked = true;
    // A caller may expect tunnels meanwhile.
    if (await this.ports.paths.hasTunnel().catch(() => true)) this.#tunnels = true;
  }

  /** Says that tunnels will be created. Until the returned function is called, no check finds that the last one is gone. */
  expectTunnels(): () => void {
    this.#tunnels = true;
    this.#expecting++;
    return () => void this.#expecting--;
  }

  /** Sets the desired paths. Never rejects: a node whose path cannot be created is not reachable. */
  setNode(node: DirectReturnNode | undefined): Promise<void> {
    const wanted = JSON.stringify(node, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)) ?? '';
    if (this.#begun && wanted === this.#wanted) return Promise.resolve();
    return this.run(async () => {
      this.#begun = true;
      this.#wanted = wanted;
      this.#plan = node === undefined ? nothing : planPaths(node);
      this.#tunnels ||= this.#plan.items.some(isTunnel);
      // Items of an earlier process are removed in a later check, because nothing waits for that.
      if (node !== undefined) await this.#complete();
      this.cancelCheck();
      this.scheduleCheck();
    });
  }

  /** Returns true if packets can be routed to the node. */
  reaches(node: Address): boolean {
    const needs = this.#plan.byTarget.get(formatAddress(node));
    return needs?.every((item) => this.#present.has(itemKey(item))) === true;
  }

  /** Creates tunnels from these addresses. Returns the error if that is not possible. */
  probe(addresses: readonly Address[]): Promise<string | undefined> {
    return this.run(() =>
      kernelRefusal(async () => {
        const { missing } = pathDifference(await this.ports.paths.list(), addresses.map(tunnelItem));
        if (missing.length > 0) await this.ports.paths.change(missing, []);
      }),
    );
  }

  /** Removes all paths. Called after `close`. */
  async remove(): Promise<void> {
    const { paths } = this.ports;
    await paths.change([], pathDifference(await paths.list(), []).extra);
  }

  /** Adds missing items. Never rejects: a node whose items are missing afterwards is not reachable. */
  async #complete(): Promise<void> {
    const { paths, log } = this.ports;
    const before = this.#reached();
    let missing = this.#plan.items;
    try {
      // Recreating a tunnel deletes the items that used the old one. The second round finds them.
      for (let look = 0; look < 2; look++) {
        const difference = pathDifference(await paths.list(), this.#plan.items);
        missing = difference.missing;
        if (missing.length === 0) break;
        await paths.change(missing, difference.extra.filter(isTunnel));
        missing = [];
      }
    } catch (error) {
      if (!(error instanceof DataplaneError)) throw error;
      log.warn({ error: error.message }, 'some paths to other nodes could not be created');
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

  protected override scheduleNextCheck(): void {
    if (this.#plan.items.length > 0) this.scheduleCheck();
  }

  protected override async check(): Promise<void> {
    const { paths } = this.ports;
    const { missing, extra } = pathDifference(await paths.list(), this.#plan.items);
    if (missing.length > 0) {
      const lost = missing.some((item) => this.#present.has(itemKey(item)));
      this.#present = new Set([...this.#present].filter((key) => !missing.some((item) => itemKey(item) === key)));
      await this.#complete();
      if (lost && this.#plan.items.every((item) => this.#present.has(itemKey(item)))) this.#events.repaired('paths to other nodes');
    }
    if (extra.length > 0) await paths.change([], extra);
    // A node that takes part may get tunnels at any time.
    if (!this.#tunnels || this.#expecting > 0 || this.#plan !== nothing) return;
    this.#tunnels = false;
    this.#events.changed();
  }
}

const isTunnel = ({ kind }: PathItem): boolean => kind === 'tunnel';
