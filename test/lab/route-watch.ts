import { stat } from 'node:fs/promises';
import type { Lab, LabProcess } from './lab.ts';
import type { Failed } from './outcome.ts';

/** A change of a kernel route to an address. */
export interface RouteEvent {
  readonly router: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly deleted: boolean;
  readonly text: string;
}

/** Milliseconds within which a program that watches routes reports a change, on a busy machine too. */
const patienceMs = 5000;

/**
 * Returns the failures that no change of routes explains. At a change routers spread all flows again. An open translated connection may
 * then move to a node that does not know it, which resets it.
 */
export function unexplainedFailures<F extends Failed>(failures: readonly F[], changes: readonly RouteEvent[]): F[] {
  return failures.filter(
    ({ at, milliseconds }) => !changes.some((change) => change.at > at - patienceMs && change.at < at + milliseconds + patienceMs),
  );
}

/** An address that no machine has (RFC 5737). */
const marker = '192.0.2.254';

/** Watches the kernels of routers for changes of the routes to some addresses. */
export class RouteWatch {
  readonly #lab: Lab;
  readonly #monitors = new Map<string, LabProcess>();
  readonly #addresses: readonly string[];

  private constructor(lab: Lab, addresses: readonly string[]) {
    this.#lab = lab;
    this.#addresses = addresses;
  }

  static async start(lab: Lab, routers: readonly string[], addresses: readonly string[]): Promise<RouteWatch> {
    const watch = new RouteWatch(lab, addresses);
    for (const router of routers) {
      const monitor = lab.machine(router).spawn(['ip', '-ts', '-o', 'monitor', 'route'], { name: 'routes' });
      watch.#monitors.set(router, monitor);
      // The monitor prints nothing when it begins to listen, so this looks for its socket.
      await lab.until(`${router} is watched`, async () => {
        await stat(`/proc/${monitor.pid}`);
        const { stdout } = await lab.machine(router).exec(['cat', '/proc/net/netlink']);
        return stdout.split('\n').some((line) => Number(line.trim().split(/\s+/)[2]) === monitor.pid);
      });
    }
    return watch;
  }

  /** Waits until `events` has all earlier changes: the monitors have reported a route that was changed last. */
  async catchUp(): Promise<void> {
    for (const [router, monitor] of this.#monitors) {
      const markers = (): number => monitor.lines().filter((line) => line.includes(`Deleted blackhole ${marker}`)).length;
      const before = markers();
      await this.#lab.machine(router).ip(`route add blackhole ${marker}`, `route del blackhole ${marker}`);
      await this.#lab.until(`the watch of ${router} has caught up`, () => markers() > before);
    }
  }

  /** Returns the changes in the order of time. */
  events(): readonly RouteEvent[] {
    return [...this.#monitors]
      .flatMap(([router, monitor]) => monitor.lines().flatMap((line) => this.#read(router, line)))
      .toSorted((a, b) => a.at - b.at);
  }

  async stop(): Promise<void> {
    for (const monitor of this.#monitors.values()) await monitor.stop();
  }

  /** Reads a line such as "[2026-11-21T23:50:00.123456] Deleted 198.51.100.10 ..." */
  #read(router: string, line: string): RouteEvent[] {
    const [, time, deleted, text = ''] = /^\[(\S+)\] (Deleted )?(.*)$/.exec(line) ?? [];
    const [prefix = ''] = text.split(' ');
    if (time === undefined || !this.#addresses.includes(prefix.replace(/\/\d+$/, ''))) return [];
    return [{ router, at: Date.parse(time), deleted: deleted !== undefined, text }];
  }
}
