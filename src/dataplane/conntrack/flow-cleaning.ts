import type { Frontend } from '../../net/frontend.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Log } from '../../system/log.ts';
import { maximumConntrackQueue } from '../limits.ts';
import { staleFlowsText, staleFlows, staleFlowMatcher, type ConntrackCleaner, type StaleFlows } from './conntrack-cleaner.ts';

interface FlowCleaningComponents {
  readonly conntrack: ConntrackCleaner;
  readonly log: Log;
}

interface FlowCleaningOptions {
  /** All frontends that the node should have. */
  readonly frontends: () => Iterable<Frontend>;
  readonly nodePortAddresses: () => readonly Prefix[];
}

/** Deletes stale flows after commits, in the background: no caller waits for it. */
export class FlowCleaning {
  readonly #components: FlowCleaningComponents;
  readonly #options: FlowCleaningOptions;
  #stale: StaleFlows[] = [];
  #unknown = false;
  #working: Promise<void> | undefined;

  constructor(components: FlowCleaningComponents, options: FlowCleaningOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** Queues the stale flows of a frontend that changed in the kernel. Undefined: absent. */
  onFrontendChange(before: Frontend | undefined, after: Frontend | undefined): void {
    if (this.#stale.length >= maximumConntrackQueue) this.#unknown = true;
    else this.#stale.push(...staleFlows(before, after, this.#options.nodePortAddresses()));
  }

  /** Requests a comparison of all flows with the frontends, because changes of frontends may have been missed. */
  requestFullScan(): void {
    this.#unknown = true;
  }

  begin(): void {
    if (this.#stale.length > 0 || this.#unknown) this.#working ??= this.#work();
  }

  /** Resolves when nothing is left to do. Never rejects. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#unknown || this.#stale.length > 0) {
      if (this.#unknown) {
        this.#unknown = false;
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
      const strayOf = staleFlowMatcher(this.#options.frontends(), this.#options.nodePortAddresses());
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
