import type { NodeForwarding, ServiceForwarding } from '../../../net/frontend.ts';
import type { Cancel, Clock } from '../../../system/clock.ts';
import type { Log } from '../../../system/log.ts';
import { MalformedNetlink, NetlinkError } from '../../../system/netlink/error.ts';
import type { CountActive } from '../../conntrack/active-connections.ts';
import { DataplaneLayer } from '../../dataplane-layer.ts';
import { DataplaneError, type ApplyResult, type Dataplane, type ForwardingChanges } from '../../dataplane.ts';
import type { ReadTurnsTaken } from '../netlink/turn-counters.ts';
import {
  chainsOf,
  chainText,
  hasSameTurns,
  isCounted,
  loadsOf,
  nothingSeen,
  talliedPorts,
  withTurns,
  type SeenConnections,
} from './counted-forwarding.ts';
import { changedPause, longestPause, lookInterval, pauseFactor, usualLook } from './limits.ts';

interface CountingComponents {
  readonly clock: Clock;
  readonly log: Log;
  readonly tally: CountActive;
  readonly turnsTaken: ReadTurnsTaken;
  /** Returns the processor time of this process. Default: the time by the clock. */
  readonly processorMilliseconds?: () => number;
}

/**
 * Lets turns follow connections (`counting` of a Frontend): looks at the kernel's connections and turns at intervals, and sets the order of the next
 * turns where it has changed. While no Service asks, it does nothing. Nothing is stored: a new process looks before its first `replace`.
 */
export class CountingDataplane extends DataplaneLayer {
  readonly #components: CountingComponents;
  /** The Services that ask, in the form in which they came. */
  #asked = new Map<string, ServiceForwarding>();
  /** The same, as they were last passed on. */
  readonly #passed = new Map<string, ServiceForwarding>();
  #seen: SeenConnections = nothingSeen;
  #cancel: Cancel | undefined;
  #due = Number.POSITIVE_INFINITY;
  #isLooking = false;
  /** When so much time will have passed that the last look cost little of it. */
  #paid = Number.NEGATIVE_INFINITY;
  /** The milliseconds of a processor that the last look counted. The time of a look includes other work, so it counts at most twice the one before. */
  #cost = usualLook;
  /** A Service changed during a look. */
  #isWanted = false;
  #problem: string | undefined;

  constructor(inner: Dataplane, components: CountingComponents) {
    super(inner);
    this.#components = components;
  }

  override async replace(node: NodeForwarding, services: ReadonlyMap<string, ServiceForwarding>): Promise<ApplyResult> {
    this.#forget();
    this.#asked = new Map([...services].filter(([, forwarding]) => isCounted(forwarding)));
    if (this.#asked.size === 0) return await super.replace(node, services);
    await this.#observe();
    const result = super.replace(node, this.#passedOn(services));
    this.#schedule(changedPause);
    return await result;
  }

  override apply(changes: ForwardingChanges): Promise<ApplyResult> {
    let isAsked = false;
    for (const [service, forwarding] of changes) {
      if (forwarding !== undefined && isCounted(forwarding)) {
        this.#asked.set(service, forwarding);
        isAsked = true;
      } else {
        this.#asked.delete(service);
        this.#passed.delete(service);
      }
    }
    const result = super.apply(this.#passedOn(changes));
    if (this.#asked.size === 0) this.#forget();
    else if (isAsked) this.#schedule(changedPause);
    return result;
  }

  override clear(): Promise<void> {
    this.#forget();
    return super.clear();
  }

  override close(): Promise<void> {
    this.#forget();
    return super.close();
  }

  override cleanup(): Promise<void> {
    this.#forget();
    return super.cleanup();
  }

  #forget(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#due = Number.POSITIVE_INFINITY;
    this.#asked = new Map();
    this.#passed.clear();
    this.#seen = nothingSeen;
  }

  /** Returns the changes with turns by the latest look. */
  #passedOn<T extends ServiceForwarding | undefined>(changes: ReadonlyMap<string, T>): Map<string, T | ServiceForwarding> {
    const passed = new Map<string, T | ServiceForwarding>(changes);
    for (const service of changes.keys()) {
      const asked = this.#asked.get(service);
      if (asked === undefined) continue;
      const turned = withTurns(asked, this.#seen);
      this.#passed.set(service, turned);
      passed.set(service, turned);
    }
    return passed;
  }

  #schedule(pause: number): void {
    const { clock } = this.#components;
    if (this.#isLooking) {
      this.#isWanted = true;
      return;
    }
    const due = Math.max(clock.now() + pause, this.#paid);
    if (this.#asked.size === 0 || due >= this.#due) return;
    this.#cancel?.();
    this.#due = due;
    this.#cancel = clock.after(due - clock.now(), () => void this.#look());
  }

  async #look(): Promise<void> {
    const { clock, processorMilliseconds = () => clock.now() } = this.#components;
    const [began, used] = [clock.now(), processorMilliseconds()];
    this.#cancel = undefined;
    this.#due = Number.POSITIVE_INFINITY;
    this.#isLooking = true;
    this.#isWanted = false;
    if (await this.#observe()) await this.#turn();
    this.#isLooking = false;
    const spent = Math.min(clock.now() - began, processorMilliseconds() - used);
    this.#cost = Math.max(1, Math.min(spent, 2 * this.#cost));
    this.#paid = clock.now() + Math.min(this.#cost * pauseFactor, longestPause);
    this.#schedule(this.#isWanted ? changedPause : lookInterval);
  }

  /** Sets the turns that are no longer right. */
  async #turn(): Promise<void> {
    const changes = new Map<string, ServiceForwarding>();
    for (const [service, asked] of this.#asked) {
      const turned = withTurns(asked, this.#seen);
      const passed = this.#passed.get(service);
      if (passed !== undefined && hasSameTurns(turned, passed)) continue;
      this.#passed.set(service, turned);
      changes.set(service, turned);
    }
    if (changes.size === 0) return;
    try {
      await super.apply(changes);
    } catch (error) {
      if (!(error instanceof DataplaneError)) throw error;
      this.#components.log.warn({ error: error.message }, 'turns could not be set by connections, the next look tries again');
      for (const service of changes.keys()) this.#passed.delete(service);
    }
  }

  /** Returns whether the connections could be seen. Without that, the turns stay as they are. */
  async #observe(): Promise<boolean> {
    const { log, tally, turnsTaken } = this.#components;
    const asked = this.#asked;
    try {
      const chains = chainsOf(asked);
      // Connections that begin meanwhile count, but have not taken a turn: the turns that they take are lost, and no endpoint gets too many.
      const taken = await turnsTaken(chains);
      const tallies = await tally(talliedPorts(asked));
      // Another `replace` came, or no Service asks any more.
      if (this.#asked !== asked) return false;
      const before = this.#seen.taken;
      this.#seen = {
        loads: loadsOf(asked, tallies),
        taken: new Map(
          chains.flatMap((chain, index) => {
            const ever = taken[index];
            if (ever === undefined) return [];
            const last = before.get(chainText(chain))?.ever ?? ever;
            return [[chainText(chain), { ever, lately: Math.max(0, ever - last) }] as const];
          }),
        ),
      };
      this.#problem = undefined;
      return true;
    } catch (error) {
      if (!(error instanceof NetlinkError || error instanceof MalformedNetlink || error instanceof DataplaneError)) throw error;
      if (this.#problem !== error.message) log.warn({ error: error.message }, 'connections could not be counted, turns stay as they are');
      this.#problem = error.message;
      return false;
    }
  }
}
