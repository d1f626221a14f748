import { defined } from '../../lang/defined.ts';
import type { AgentPodName } from '../../model/objects/agent-pod.ts';
import type { Metadata } from '../../model/objects/metadata.ts';
import type { NodeState } from '../../model/objects/node-state.ts';
import { version } from '../../model/objects/version.ts';
import { TokenBucket } from '../../lang/token-bucket.ts';
import type { Cancel } from '../../system/clock.ts';
import { limits } from '../limits.ts';
import type { RandomSurroundings } from '../../system/random.ts';
import { writeUrgency, type ReportContent, type WriteUrgency } from './write-urgency.ts';

interface NodeReportComponents extends RandomSurroundings {
  readonly writeNodeState: (state: NodeState) => Promise<void>;
}

interface NodeReportOptions {
  readonly node: string;
  readonly content: () => ReportContent;
  /** Tells whether this process, named `writer` in its reports, may replace the report that is there. */
  readonly mayWrite?: (writer: string) => boolean;
  /** Number of nodes of the cluster: all of them write. */
  readonly nodes?: () => number;
  /** The Pod of this process. Absent: it runs in none. */
  readonly pod?: AgentPodName;
  /** True while the kubelet of the node reports to the control plane. */
  readonly kubeletReports?: () => boolean;
}

/** The last attempt to write a report. Times are by the clock, in milliseconds. */
interface Attempt {
  readonly content: ReportContent;
  /** RFC 3339. */
  readonly updated: string;
  readonly at: number;
  readonly failed: boolean;
  /** Shortens the intervals until the next writes at random. */
  readonly share: number;
}

/** Writes the NodeState when its content has changed, and at intervals as a sign of life that no kubelet gives, one write at a time. */
export class NodeReport {
  readonly #components: NodeReportComponents;
  readonly #options: NodeReportOptions;
  readonly #writer: string;
  /** A whole cluster of agents sees the same router fail, and the API server must take all of their reports. */
  readonly #budget = new TokenBucket({ burst: limits.reportBurst, refillMilliseconds: limits.reportRefillMilliseconds });
  #last: Attempt | undefined;
  /** When the present difference may be written, if all agents have one of its kind at this moment. Undefined: no difference waits. */
  #turn: { readonly urgency: WriteUrgency; readonly at: number } | undefined;
  #cancel: Cancel | undefined;
  #due = Number.POSITIVE_INFINITY;
  #writing: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(components: NodeReportComponents, options: NodeReportOptions) {
    this.#components = components;
    this.#options = options;
    this.#writer = Math.floor(components.random() * 2 ** 48).toString(16);
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
    const last = this.#last;
    const urgency = last === undefined || last.failed ? 'none' : writeUrgency(last.content, content);
    const wait = this.#dueAt(urgency) - this.#components.clock.now();
    if (wait > 0) return this.#schedule(wait);
    const isRepetition = urgency === 'none' && last?.failed === false && this.#isVouchedFor;
    await this.#write(content, isRepetition ? last.updated : undefined);
  }

  /** Returns when a write of this urgency should begin. */
  #dueAt(urgency: WriteUrgency): number {
    const last = this.#last;
    if (last === undefined) return 0;
    if (this.#turn?.urgency !== urgency) this.#turn = undefined;
    const repeatAt = this.#repeatAt(last);
    const now = this.#components.clock.now();
    switch (urgency) {
      case 'now':
        return Math.min(repeatAt, this.#budget.dueAt(now));
      case 'acknowledgement':
        return Math.min(
          repeatAt,
          Math.max(this.#turnAt(urgency, limits.reportSpreadMilliseconds), this.#budget.dueAt(now, limits.reportBurst / 2)),
        );
      case 'answers':
      case 'details':
        return Math.min(repeatAt, Math.max(this.#turnAt(urgency, limits.detailsSpreadMilliseconds), this.#detailsAt(last, urgency)));
      case 'none':
        return repeatAt;
    }
  }

  /** Returns when the report is written again although nothing has changed. */
  #repeatAt({ at, failed, share }: Attempt): number {
    const { reportEveryMilliseconds, reportRepeatMilliseconds } = limits;
    return at + share * (this.#isVouchedFor && !failed ? reportRepeatMilliseconds : reportEveryMilliseconds);
  }

  /** Returns when the interval of answers or counts is over: agents that always have new ones write at it. */
  #detailsAt({ at, share }: Attempt, urgency: 'answers' | 'details'): number {
    const shortest = urgency === 'answers' ? limits.answersEveryMilliseconds : limits.reportEveryMilliseconds;
    return at + share * Math.max(shortest, this.#nodes * limits.detailsSpreadMilliseconds);
  }

  /** True while the kubelet shows that this process lives. */
  get #isVouchedFor(): boolean {
    return this.#options.pod !== undefined && this.#options.kubeletReports?.() === true;
  }

  /** The same change makes every agent write, so they spread their writes at random over a time that grows with the cluster. */
  #turnAt(urgency: WriteUrgency, spreadMilliseconds: number): number {
    const { clock, random } = this.#components;
    this.#turn ??= { urgency, at: clock.now() + random() * (this.#nodes - 1) * spreadMilliseconds };
    return this.#turn.at;
  }

  get #nodes(): number {
    return Math.max(1, this.#options.nodes?.() ?? 1);
  }

  #state(content: ReportContent, updated: string): NodeState {
    const { node, pod } = this.#options;
    return { kind: 'NodeState', metadata: metadata(node), updated, version, writer: this.#writer, ...defined({ pod }), ...content };
  }

  /** A repetition has the time of the write that it repeats, so that the API server has nothing to change. */
  async #write(content: ReportContent, updated = this.#components.clock.date().toISOString()): Promise<void> {
    const { clock, random, log, writeNodeState } = this.#components;
    this.#turn = undefined;
    this.#budget.spend(clock.now());
    let failed = false;
    try {
      if (this.#options.mayWrite?.(this.#writer) === false) failed = true;
      else await writeNodeState(this.#state(content, updated));
    } catch (error) {
      failed = true;
      // A directory that takes no records is logged once for all records.
      const { code } = error as { readonly code?: unknown };
      log[code === 'notWritten' ? 'debug' : 'warn']({ error }, 'the state of the node was not written; retrying');
    }
    this.#last = { content, updated, at: clock.now(), failed, share: 0.75 + 0.25 * random() };
    this.#schedule(this.#repeatAt(this.#last) - clock.now());
  }
}

function metadata(name: string): Metadata {
  return { namespace: '', name, uid: '', resourceVersion: '', labels: {}, annotations: {}, creationTimestamp: '', deleting: false };
}
