import type { Metadata } from '../../model/objects/metadata.ts';
import type { NodeState } from '../../model/objects/node-state.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Random } from '../../system/random.ts';
import { limits } from '../limits.ts';
import { WriteBudget } from './write-budget.ts';
import { writeUrgency, type ReportContent } from './write-urgency.ts';

interface NodeReportComponents {
  readonly writeNodeState: (state: NodeState) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface NodeReportOptions {
  readonly node: string;
  readonly content: () => ReportContent;
  /** Tells whether this process, named `writer` in its reports, may replace the report that is there. */
  readonly mayWrite?: (writer: string) => boolean;
  /** Number of nodes of the cluster: all of them write. */
  readonly nodes?: () => number;
}

/** The last attempt to write a report. Times are by the clock, in milliseconds. */
interface Attempt {
  readonly content: ReportContent;
  readonly at: number;
  readonly failed: boolean;
  /** When the report is written again although nothing has changed. */
  readonly repeatAt: number;
  /** When counts that differ are written. */
  readonly detailsAt: number;
}

/** Writes the NodeState when its content has changed, and at intervals as a sign of life, one write at a time. */
export class NodeReport {
  readonly #components: NodeReportComponents;
  readonly #options: NodeReportOptions;
  readonly #writer: string;
  readonly #budget: WriteBudget;
  #last: Attempt | undefined;
  /** When the difference that only acknowledges may be written. Undefined: there is none. */
  #acknowledgeAt: number | undefined;
  #cancel: Cancel | undefined;
  #due = Number.POSITIVE_INFINITY;
  #writing: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(components: NodeReportComponents, options: NodeReportOptions) {
    this.#components = components;
    this.#options = options;
    this.#writer = Math.floor(components.random() * 2 ** 48).toString(16);
    this.#budget = new WriteBudget(components.clock);
  }

  /** Schedules a write soon if the content has changed by then. */
  scheduleWrite(): void {
    this.#schedule(limits.reportPauseMilliseconds);
  }

  /** Writes the final state and stops. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    await this.#writing;
    await this.#write(this.#options.content());
  }

  #schedule(milliseconds: number): void {
    const { clock } = this.#components;
    const due = clock.now() + milliseconds;
    if (this.#closed || due >= this.#due) return;
    this.#cancel?.();
    this.#due = due;
    this.#cancel = clock.after(milliseconds, () => {
      // Changes that come before this write begins are part of it, so none needs another write.
      this.#writing = this.#writing.then(() => this.#writeIfDue());
    });
  }

  async #writeIfDue(): Promise<void> {
    this.#due = Number.POSITIVE_INFINITY;
    const content = this.#options.content();
    const wait = this.#dueAt(content) - this.#components.clock.now();
    if (wait > 0) this.#schedule(wait);
    else await this.#write(content);
  }

  /** Returns when this content should be written. */
  #dueAt(content: ReportContent): number {
    const last = this.#last;
    if (last === undefined) return 0;
    const urgency = last.failed ? 'none' : writeUrgency(last.content, content);
    const dueAt = { now: () => this.#budget.dueAt, acknowledgement: () => this.#acknowledgement(), details: () => last.detailsAt };
    if (urgency !== 'acknowledgement') this.#acknowledgeAt = undefined;
    return urgency === 'none' ? last.repeatAt : Math.min(last.repeatAt, dueAt[urgency]());
  }

  /** Every agent acknowledges the same change, so they spread their writes over a time that grows with the cluster. */
  #acknowledgement(): number {
    const { clock, random } = this.#components;
    const spread = random() * (this.#nodes - 1) * limits.reportSpreadMilliseconds;
    this.#acknowledgeAt ??= clock.now() + spread;
    return Math.max(this.#acknowledgeAt, this.#budget.patientDueAt);
  }

  get #nodes(): number {
    return Math.max(1, this.#options.nodes?.() ?? 1);
  }

  #state(content: ReportContent): NodeState {
    const updated = this.#components.clock.date().toISOString();
    return { kind: 'NodeState', metadata: metadata(this.#options.node), updated, writer: this.#writer, ...content };
  }

  async #write(content: ReportContent): Promise<void> {
    const { log, writeNodeState } = this.#components;
    this.#acknowledgeAt = undefined;
    this.#budget.spend();
    let failed = false;
    try {
      if (this.#options.mayWrite?.(this.#writer) === false) failed = true;
      else await writeNodeState(this.#state(content));
    } catch (error) {
      failed = true;
      // A directory that takes no records is logged once for all records.
      const { code } = error as { readonly code?: unknown };
      log[code === 'notWritten' ? 'debug' : 'warn']({ error }, 'the state of the node was not written; retrying');
    }
    this.#last = this.#attempt(content, failed);
    this.#schedule(this.#last.repeatAt - this.#last.at);
  }

  #attempt(content: ReportContent, failed: boolean): Attempt {
    const { clock, random } = this.#components;
    const at = clock.now();
    const share = 0.75 + 0.25 * random();
    const details = Math.max(limits.reportEveryMilliseconds, this.#nodes * limits.detailsSpreadMilliseconds);
    return { content, at, failed, repeatAt: at + limits.reportEveryMilliseconds * share, detailsAt: at + details * share };
  }
}

function metadata(name: string): Metadata {
  return { namespace: '', name, uid: '', resourceVersion: '', labels: {}, annotations: {}, creationTimestamp: '', deleting: false };
}
