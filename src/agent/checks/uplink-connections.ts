import { judgeUplinks, noteUplinks, type UplinkCount, type UplinkRecords } from '../../decisions/announcement/sessions/quiet-uplinks.ts';
import type { SessionStatus } from '../../model/objects/node-state.ts';
import type { Reason } from '../../model/reasons.ts';
import { parseAddressLeniently, type Family } from '../../net/address.ts';
import type { HostTarget } from '../../net/host-path.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { FindHostPaths } from '../host-readings.ts';
import { limits } from '../limits.ts';

/** The connections that came in by an interface. */
export interface Entered {
  readonly family: Family;
  readonly interface: string;
  readonly count: number;
}

export interface UplinkConnectionsComponents {
  readonly clock: Clock;
  readonly log: Log;
  readonly hostPaths?: FindHostPaths;
  /** Rejects if the kernel does not answer. Absent: connections are not counted by interface. */
  readonly enteredConnections?: () => Promise<readonly Entered[]>;
}

interface UplinkConnectionsOptions {
  /** False: the kernel does not count. */
  readonly isWanted: () => boolean;
  readonly sessions: () => readonly SessionStatus[];
  /** Returns a prefix of the family that is announced to the peer. */
  readonly prefixOf: (peer: string, family: Family) => string | undefined;
  readonly onStatusChanged: () => void;
}

/**
 * Compares the connections that come in by each uplink of this node. It counts only where routers behind several interfaces have routes of one
 * family. The kernel counts, so a reading costs the same at any number of connections.
 */
export class UplinkConnections {
  readonly #components: UplinkConnectionsComponents;
  readonly #options: UplinkConnectionsOptions;
  #records: UplinkRecords = new Map();
  #reasons: readonly Reason[] = [];
  #cancel: Cancel | undefined;

  constructor(components: UplinkConnectionsComponents, options: UplinkConnectionsOptions) {
    this.#components = components;
    this.#options = options;
  }

  problems(): readonly Reason[] {
    return this.#reasons;
  }

  start(): void {
    if (this.#components.enteredConnections === undefined) return;
    this.#cancel ??= this.#components.clock.after(limits.uplinkMilliseconds, () => void this.#look());
  }

  /** Forgets everything. `start` begins anew. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#publish(new Map());
  }

  async #look(): Promise<void> {
    const { clock, log } = this.#components;
    const cancel = this.#cancel;
    try {
      const counts = await this.#counts();
      if (this.#cancel !== cancel) return;
      this.#publish(noteUplinks(this.#records, counts, `${clock.date().toISOString().slice(0, -5)}Z`));
    } catch (error) {
      // What the last reading showed stays valid.
      log.debug({ error }, 'the connections of the uplinks cannot be read');
    }
    if (this.#cancel !== cancel) return;
    this.#cancel = undefined;
    this.start();
  }

  async #counts(): Promise<readonly UplinkCount[]> {
    const { enteredConnections } = this.#components;
    if (!this.#options.isWanted()) return [];
    const uplinks = await this.#uplinks();
    const compared = uplinks.filter((one) => uplinks.some((other) => other.family === one.family && other.interface !== one.interface));
    if (compared.length === 0 || enteredConnections === undefined) return [];
    const entered = await enteredConnections();
    return compared.map((uplink) => {
      const { count = 0 } = entered.find((one) => one.family === uplink.family && one.interface === uplink.interface) ?? {};
      return { ...uplink, connections: count };
    });
  }

  /** Returns the interfaces to routers that have routes of this node, by family. */
  async #uplinks(): Promise<Omit<UplinkCount, 'connections'>[]> {
    const { hostPaths } = this.#components;
    const sessions = this.#options.sessions().filter(({ state, families = [] }) => state === 'Established' && families.length > 0);
    const targets = sessions.flatMap((session) => {
      const target = targetOf(session);
      return target === undefined ? [] : [{ session, target }];
    });
    const paths = (await hostPaths?.(targets.map(({ target }) => target))) ?? [];
    const found = targets.flatMap(({ session }, at) => {
      const name = paths[at]?.interface;
      return (session.families ?? []).flatMap(({ family: text, sent }) => {
        const family = text === 'IPv4' ? 4 : 6;
        const prefix = sent === 0 || name === undefined ? undefined : this.#options.prefixOf(session.peer, family);
        return name === undefined || prefix === undefined ? [] : [{ family, interface: name, prefix, session } as const];
      });
    });
    return [...Map.groupBy(found, (one) => `${one.family} ${one.interface}`).values()].flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const sorted = group.map(({ session }) => session).toSorted((a, b) => (a.peer < b.peer ? -1 : 1));
      const { family, interface: name, prefix } = first;
      return {
        family,
        interface: name,
        prefix,
        peers: sorted.map(({ peer }) => peer),
        sessions: sorted.map(({ peer, since }) => `${peer} ${since}`).join(),
      };
    });
  }

  #publish(records: UplinkRecords): void {
    this.#records = records;
    const reasons = judgeUplinks(records);
    if (JSON.stringify(reasons) === JSON.stringify(this.#reasons)) return;
    this.#reasons = reasons;
    this.#components.log.info({ uplinks: reasons.length }, 'the uplinks without connections changed');
    this.#options.onStatusChanged();
  }
}

function targetOf({ interface: name, address: text }: SessionStatus): HostTarget | undefined {
  if (name !== undefined) return { interface: name };
  const address = parseAddressLeniently(text);
  return address.ok ? address.value : undefined;
}
