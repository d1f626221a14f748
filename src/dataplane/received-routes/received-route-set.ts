import { familyOf, formatPrefix, prefix, type Prefix } from '../../net/prefix.ts';
import { DataplaneError } from '../dataplane.ts';
import { KernelSet, type KernelSetPorts } from '../kernel-set.ts';
import { routeCheckInterval } from '../limits.ts';
import { routeText, type KernelRoute, type ReceivedRouteTable } from './received-table.ts';

interface ReceivedRouteSetPorts extends KernelSetPorts {
  readonly table: ReceivedRouteTable;
}

/**
 * Keeps received routes in their table of the kernel. It takes keyed changes and applies differences only. Routes of an earlier process
 * stay until they are asked for, changed, or `settle` removes them, so that traffic flows while sessions are built anew. Routes that another
 * program or a lost link removed are found by events and by a check every `routeCheckInterval`, and set again.
 */
export class ReceivedRouteSet extends KernelSet<ReceivedRouteSetPorts> {
  readonly #changed: () => void;
  /** By the text of the prefix, as all of these. */
  readonly #wanted = new Map<string, KernelRoute>();
  /** Prefixes that are to be compared with the kernel. */
  readonly #due = new Set<string>();
  readonly #errors = new Map<string, string>();
  /** The routes that the kernel had when it answered last. */
  #present = new Map<string, KernelRoute>();
  /** False: the kernel must be read before the next change. */
  #isKnown = false;
  /** Routes of an earlier process that have not been decided yet. Undefined: the kernel was not read yet. */
  #adopted: Set<string> | undefined;
  #settled = false;

  /** `changed` is called after the routes in the kernel, or the errors, changed without a call of `change`. */
  constructor(ports: ReceivedRouteSetPorts, changed: () => void) {
    super(ports, { what: 'received routes', interval: routeCheckInterval, level: 'error' });
    this.#changed = changed;
  }

  /** Sets routes; undefined removes one. Resolves when the kernel has answered. Never rejects: `problem` has what is missing. */
  change(changes: ReadonlyMap<string, KernelRoute | undefined>): Promise<void> {
    for (const [key, route] of changes) {
      if (route === undefined) this.#wanted.delete(key);
      else this.#wanted.set(key, route);
      this.#due.add(key);
    }
    return this.#run();
  }

  /** Removes the routes of an earlier process that were not asked for by now. Later calls do nothing. */
  settle(): Promise<void> {
    if (this.#settled) return Promise.resolve();
    this.#settled = true;
    return this.#run();
  }

  get isSettled(): boolean {
    return this.#settled;
  }

  /** Compares the kernel with the wanted routes soon, because a link or an address has changed. */
  checkSoon(): void {
    if (this.#wanted.size > 0) this.scheduleCheckSoon();
  }

  /** True when the kernel has the route as it was asked for, as far as known. */
  isInstalled(key: string): boolean {
    const [present, wanted] = [this.#present.get(key), this.#wanted.get(key)];
    const isSame = present !== undefined && wanted !== undefined && routeText(present) === routeText(wanted);
    return isSame && !this.#errors.has(key);
  }

  /** Returns why the kernel does not have a wanted route. */
  problem(key: string): string | undefined {
    return this.#errors.get(key);
  }

  override async close(): Promise<void> {
    await super.close();
    this.ports.table.close();
  }

  #run(): Promise<void> {
    return this.run(async () => {
      if (this.isClosed) return;
      await this.#applyOrReport();
      this.scheduleNextCheck();
    });
  }

  protected override scheduleNextCheck(): void {
    if (this.#wanted.size > 0) this.watch((changed) => this.ports.table.watch(changed));
    if (this.#wanted.size > 0 || !this.#isKnown) this.scheduleCheck();
  }

  protected override async check(): Promise<void> {
    const before = this.#text();
    this.#isKnown = false;
    await this.#applyOrReport();
    if (this.#text() !== before) this.#changed();
  }

  async #applyOrReport(): Promise<void> {
    try {
      await this.#apply();
    } catch (error) {
      if (!(error instanceof DataplaneError)) throw error;
      this.#isKnown = false;
      this.ports.log.warn({ error: error.message }, 'received routes could not be set');
      for (const key of this.#wanted.keys()) this.#errors.set(key, error.message);
    }
  }

  async #apply(): Promise<void> {
    const { table, log } = this.ports;
    const present = this.#isKnown ? this.#present : await this.#read();
    const keys = new Set(this.#due);
    this.#due.clear();
    for (const key of keys) this.#adopted?.delete(key);
    if (this.#settled && this.#adopted !== undefined) {
      for (const key of this.#adopted) keys.add(key);
      this.#adopted.clear();
    }
    const set: [string, KernelRoute][] = [];
    const remove: [string, Prefix][] = [];
    for (const key of keys) {
      const [wanted, has] = [this.#wanted.get(key), present.get(key)];
      this.#errors.delete(key);
      if (wanted === undefined) {
        if (has !== undefined) remove.push([key, has.prefix]);
      } else if (has === undefined || routeText(has) !== routeText(wanted)) set.push([key, wanted]);
    }
    this.#present = present;
    this.#isKnown = true;
    if (set.length === 0 && remove.length === 0) return;
    // The state is unknown until the kernel has replied.
    this.#isKnown = false;
    const refused = await table.change(
      set.map(([, route]) => route),
      remove.map(([, gone]) => gone),
    );
    for (const [key] of remove) present.delete(key);
    for (const [index, [key, route]] of set.entries()) {
      const error = refused.get(index);
      if (error === undefined) present.set(key, route);
      else {
        this.#errors.set(key, error);
        log.warn({ prefix: key, route: routeText(route), error }, 'a received route could not be set');
      }
    }
    this.#isKnown = true;
  }

  /** Reads the kernel. Every wanted route is then compared. */
  async #read(): Promise<Map<string, KernelRoute>> {
    const { routes, unruled } = await this.ports.table.list();
    // A route without our rules has no effect: it is set again, together with the rules.
    const found = new Map(routes.map((route) => [formatPrefix(route.prefix), route]));
    const present = new Map([...found].filter(([key, route]) => !this.#wanted.has(key) || !unruled.has(familyOf(route.prefix))));
    if (this.#adopted === undefined) {
      this.#adopted = new Set([...present.keys()].filter((key) => !this.#wanted.has(key)));
      if (this.#adopted.size > 0) this.ports.log.info({ routes: this.#adopted.size }, 'received routes of an earlier process are kept');
    }
    for (const key of this.#wanted.keys()) this.#due.add(key);
    for (const key of present.keys()) if (!this.#wanted.has(key) && !this.#adopted.has(key)) this.#due.add(key);
    return present;
  }

  /** Equal while the same routes are missing. */
  #text(): string {
    return [...this.#errors].map((entry) => entry.join()).join();
  }
}

/** Removes all received routes and their rules, also those of an earlier process. */
export async function removeReceivedRoutes(table: ReceivedRouteTable): Promise<void> {
  const { routes } = await table.list();
  // Removing a missing route succeeds, and takes the rules of its family away even if there is no route.
  await table.change([], [...routes.map((route) => route.prefix), prefix('0.0.0.0/0'), prefix('::/0')]);
}
