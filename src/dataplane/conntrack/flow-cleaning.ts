import type { Frontend } from '../../net/frontend.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Log } from '../../system/log.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import { maximumConntrackQueue, unansweredPause } from '../limits.ts';
import { staleFlowsText, staleFlows, staleFlowMatcher, type ConntrackCleaner, type StaleFlows } from './conntrack-cleaner.ts';

interface FlowCleaningComponents {
  readonly clock: Clock;
  readonly conntrack: ConntrackCleaner;
  readonly log: Log;
}

interface FlowCleaningOptions {
  /** Finds a frontend that the node should have by `frontendKey`. */
  readonly frontendOf: (key: string) => Frontend | undefined;
  readonly nodePortAddresses: () => readonly Prefix[];
}

/** Deletes stale flows after commits, in the background: no caller waits for it. */
export class FlowCleaning {
  readonly #components: FlowCleaningComponents;
  readonly #options: FlowCleaningOptions;
  #stale: StaleFlows[] = [];
  /** Flows whose clients wait for an answer, until `#endPause`. */
  #unanswered: StaleFlows[] = [];
  #cancelPause: Cancel | undefined;
  #unknown = false;
  #working: Promise<void> | undefined;

  constructor(components: FlowCleaningComponents, options: FlowCleaningOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** Queues the stale flows of a frontend that changed in the kernel. Undefined: absent. */
  onFrontendChange(before: Frontend | undefined, after: Frontend | undefined): void {
    if (this.#stale.length + this.#unanswered.length >= maximumConntrackQueue) {
      this.#unknown = true;
      return;
    }
    for (const flows of staleFlows(before, after, this.#options.nodePortAddresses()))
      (flows.unreplied === true ? this.#unanswered : this.#stale).push(flows);
  }

  /** Requests a comparison of all flows with the frontends, because changes of frontends may have been missed. */
  requestFullScan(): void {
    this.#unknown = true;
  }

  begin(): void {
    if (this.#unanswered.length > 0) this.#cancelPause ??= this.#components.clock.after(unansweredPause, () => this.#endPause());
    if (this.#stale.length > 0 || this.#unknown) this.#working ??= this.#work();
  }

  /** Resolves when the present work is done. The next agent finds what it leaves. Never rejects. */
  async close(): Promise<void> {
    this.#cancelPause?.();
    await this.#working;
  }

  /** Each deletion walks through the table of connections, so many changes of TCP endpoints share one. */
  #endPause(): void {
    this.#cancelPause = undefined;
    this.#stale.push(...this.#unanswered.splice(0));
    this.begin();
  }

  async #work(): Promise<void> {
    while (this.#unknown || this.#stale.length > 0) {
      if (this.#unknown) {
        this.#unknown = false;
        this.#unanswered = [];
        await this.#findStrays();
      }
      const stale = this.#stale;
      this.#stale = [];
      try {
        await this.#components.conntrack.delete(stale);
      } catch (error) {
        this.#components.log.warn({ error: String(error) }, 'stale flows could not be deleted');
      }
    }
    this.#working = undefined;
  }

  async #findStrays(): Promise<void> {
    try {
      const strayOf = staleFlowMatcher(this.#options.frontendOf, this.#options.nodePortAddresses());
      const strays = new Map<string, StaleFlows>();
      await this.#components.conntrack.each((flow) => {
        const stray = strayOf(flow);
        if (stray !== undefined) strays.set(staleFlowsText(stray), stray);
      });
      for (const stray of strays.values()) this.#stale.push(stray);
    } catch (error) {
      this.#components.log.warn({ error: String(error) }, 'flows could not be listed, stale ones may stay until they time out');
    }
  }
}
