import type { CountConnections } from '../../dataplane/conntrack/connection-count.ts';
import type { OwnState } from '../../decisions/announcement/node-drain.ts';
import { requestedDrain } from '../../model/kinds/requested-drain.ts';
import type { DrainPhase, NodeDrainReport } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatTime, parseTime } from '../../model/time.ts';
import type { Cancel } from '../../system/clock.ts';
import { limits } from '../limits.ts';
import type { Surroundings } from '../../system/random.ts';
import { otherNodesText } from './other-nodes.ts';

export interface NodeDrainingComponents extends Surroundings {
  readonly countConnections: CountConnections;
}

/** The progress of a node drain, from the plans of the Services. */
export interface DrainProgress {
  /** Number of Services with routes that are still to be withdrawn. */
  readonly withdrawing: number;
  /** Number of Services whose routes stay because no other node announces them. */
  readonly kept: number;
  /** Frontends, by frontendKey, of addresses that are no longer announced because of the drain. */
  readonly unannounced: ReadonlySet<string>;
}

interface NodeDrainingOptions {
  readonly node: string;
  readonly snapshot: () => Snapshot;
  readonly progress: () => DrainProgress;
  /** Plans every Service again. */
  readonly requeueAll: () => void;
  readonly onStatusChanged: () => void;
}

/** A time by the wall clock, for reports, and by the monotonic clock, for durations: the wall clock may be set. Both in milliseconds. */
interface Moment {
  readonly epoch: number;
  readonly clock: number;
}

interface NodeDrainState {
  readonly since: Moment;
  settled: boolean;
  /** When the last route was withdrawn. Absent while there are routes. */
  withdrawn?: Moment;
  connections?: number;
  /** True if the last check found no connection, or the deadline had passed. */
  isOver: boolean;
  /** The state of the other nodes that the drain decision depends on, as text, at the last check. */
  otherNodes: string;
  /** The report of the previous agent process. */
  readonly resumed: NodeDrainReport | undefined;
}

/**
 * Runs the drain of this node. It supplies what the pure decision lacks: elapsed time and the number of open connections. After a restart
 * the agent continues the drain that its last report describes. It reports no further progress until everything is planned and committed:
 * without plans there are no routes, no last next hop and no connections.
 */
export class NodeDraining {
  readonly #components: NodeDrainingComponents;
  readonly #options: NodeDrainingOptions;
  #drain: NodeDrainState | undefined;
  #settling: Cancel | undefined;
  #nextCheck: Cancel | undefined;
  #begun = false;
  #planned = false;
  #stopped = false;

  constructor(components: NodeDrainingComponents, options: NodeDrainingOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** Starts, continues or ends the drain as the snapshot requests. Called before Services are planned. */
  reconcile(snapshot: Snapshot): void {
    const { node: name } = this.#options;
    const node = snapshot.nodes.get(name);
    const isWanted = node !== undefined && requestedDrain(snapshot.config, node) !== undefined;
    const resumed = this.#begun ? undefined : snapshot.nodeStates.get(name)?.drain;
    this.#begun = true;
    if (!isWanted) this.#end();
    else if (this.#drain === undefined) this.#begin(resumed);
    if (this.#drain?.settled === false) this.#settleAfter(snapshot.config.nodeDrain.settleSeconds);
  }

  /** Called when every Service has been planned and the kernel has committed the plans. */
  onPassCommitted(): void {
    if (this.#planned) return;
    this.#planned = true;
    if (this.#drain?.settled === true) this.#checkLater(this.#drain);
    this.#options.onStatusChanged();
  }

  /** Returns the state of the drain for the announcement decision. */
  view(): OwnState {
    const now = this.#now();
    return this.#drain === undefined ? { now } : { now, settled: this.#drain.settled };
  }

  report(): { readonly drain?: NodeDrainReport } {
    const drain = this.#drain;
    if (drain === undefined) return {};
    const since = formatTime(drain.since.epoch);
    if (!this.#planned) return { drain: { phase: 'Draining', kept: 0, ...drain.resumed, since } };
    const { withdrawing, kept } = this.#options.progress();
    const phase = phaseOf(drain, withdrawing, kept);
    const hasLeft = phase === 'Withdrawn' || phase === 'Drained';
    const withdrawn = hasLeft && drain.withdrawn !== undefined ? { withdrawn: formatTime(drain.withdrawn.epoch) } : {};
    const connections = hasLeft && drain.connections !== undefined ? { connections: drain.connections } : {};
    return { drain: { phase, since, kept: drain.settled ? kept : 0, ...withdrawn, ...connections } };
  }

  stop(): void {
    this.#stopped = true;
    this.#settling?.();
    this.#nextCheck?.();
  }

  #begin(resumed: NodeDrainReport | undefined): void {
    const settled = resumed !== undefined && resumed.phase !== 'Draining';
    this.#drain = {
      since: this.#moment(resumed?.since),
      settled,
      ...(resumed?.withdrawn === undefined ? {} : { withdrawn: this.#moment(resumed.withdrawn) }),
      ...(resumed?.connections === undefined ? {} : { connections: resumed.connections }),
      isOver: resumed?.phase === 'Drained',
      otherNodes: '',
      resumed,
    };
    this.#components.log.info({ node: this.#options.node, resumed: resumed !== undefined }, 'the node is drained');
    if (settled) this.#checkLater(this.#drain);
    this.#options.onStatusChanged();
  }

  #end(): void {
    if (this.#drain === undefined) return;
    this.#drain = undefined;
    this.#settling?.();
    this.#nextCheck?.();
    this.#settling = undefined;
    this.#components.log.info({ node: this.#options.node }, 'the drain of the node has ended');
    this.#options.onStatusChanged();
  }

  /** Counts from the start of the drain, so that a changed setting counts from there too. */
  #settleAfter(seconds: number): void {
    const drain = this.#drain;
    if (drain === undefined) return;
    this.#settling?.();
    const left = Math.max(0, drain.since.clock + seconds * 1000 - this.#components.clock.now());
    this.#settling = this.#components.clock.after(left, () => {
      this.#settling = undefined;
      drain.settled = true;
      drain.otherNodes = this.#otherNodes();
      this.#checkLater(drain);
      this.#options.requeueAll();
    });
  }

  #checkLater(drain: NodeDrainState): void {
    if (!this.#planned) return;
    this.#nextCheck = this.#components.clock.after(limits.nodeDrainPollMilliseconds, () => void this.#check(drain));
  }

  async #check(drain: NodeDrainState): Promise<void> {
    const others = this.#otherNodes();
    if (others !== drain.otherNodes) {
      drain.otherNodes = others;
      this.#options.requeueAll();
    }
    const { withdrawing, kept, unannounced } = this.#options.progress();
    if (withdrawing === 0 && kept === 0) {
      drain.withdrawn ??= this.#moment();
      const connections = await this.#count(unannounced);
      if (connections === undefined) delete drain.connections;
      else drain.connections = connections;
      const deadline = drain.withdrawn.clock + this.#options.snapshot().config.nodeDrain.deadlineSeconds * 1000;
      drain.isOver = connections === 0 || this.#components.clock.now() >= deadline;
    } else {
      delete drain.withdrawn;
      delete drain.connections;
      drain.isOver = false;
    }
    if (this.#stopped || this.#drain !== drain) return;
    this.#options.onStatusChanged();
    this.#checkLater(drain);
  }

  /** Returns undefined if connections cannot be counted; the deadline then ends the drain. A counting error never stops forwarding. */
  async #count(frontends: ReadonlySet<string>): Promise<number | undefined> {
    try {
      return await this.#components.countConnections(frontends);
    } catch (error) {
      this.#components.log.warn({ error }, 'connections cannot be counted');
      return undefined;
    }
  }

  #otherNodes(): string {
    return otherNodesText(this.#options.snapshot(), this.#options.node, this.#now());
  }

  /** Returns the time that a previous report names, but never a time in the future. Without `text`: now. */
  #moment(text?: string): Moment {
    const now = this.#now();
    const epoch = Math.min(parseTime(text) ?? now, now);
    return { epoch, clock: this.#components.clock.now() - (now - epoch) };
  }

  /** Milliseconds since the epoch. */
  #now(): number {
    return this.#components.clock.date().getTime();
  }
}

function phaseOf({ settled, isOver }: NodeDrainState, withdrawing: number, kept: number): DrainPhase {
  if (!settled || withdrawing > 0) return 'Draining';
  if (kept > 0) return 'Settled';
  return isOver ? 'Drained' : 'Withdrawn';
}
