import type { Metadata } from '../../model/objects/metadata.ts';
import type { NodeState } from '../../model/objects/node-state.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Random } from '../../system/random.ts';
import { limits } from '../limits.ts';

interface NodeReportComponents {
  readonly writeNodeState: (state: NodeState) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The content of a NodeState without the node's name and the time. */
export type ReportContent = Omit<NodeState, 'kind' | 'metadata' | 'updated' | 'writer'>;

/** Writes the NodeState: soon after a change and at intervals without one, one write at a time. */
export class NodeReport {
  readonly #components: NodeReportComponents;
  readonly #node: string;
  readonly #content: () => ReportContent;
  readonly #mayWrite: (writer: string) => boolean;
  readonly #writer: string;
  #cancel: Cancel | undefined;
  #due = Number.POSITIVE_INFINITY;
  #writing: Promise<void> = Promise.resolve();
  #closed = false;

  /** `mayWrite` tells whether this process, named `writer` in its reports, may replace the report that is there. */
  constructor(
    components: NodeReportComponents,
    node: string,
    content: () => ReportContent,
    mayWrite: (writer: string) => boolean = () => true,
  ) {
    this.#components = components;
    this.#node = node;
    this.#content = content;
    this.#mayWrite = mayWrite;
    this.#writer = Math.floor(components.random() * 2 ** 48).toString(16);
  }

  /** Schedules a write soon, because the content changed. */
  scheduleWrite(): void {
    this.#schedule(limits.reportPauseMilliseconds);
  }

  /** Writes the final state and stops. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    await this.#writing;
    await this.#write();
  }

  #schedule(milliseconds: number): void {
    const { clock } = this.#components;
    const due = clock.now() + milliseconds;
    if (this.#closed || due >= this.#due) return;
    this.#cancel?.();
    this.#due = due;
    this.#cancel = clock.after(milliseconds, () => {
      // Changes that come before this write begins are part of it, so none needs another write.
      this.#writing = this.#writing.then(() => this.#write());
    });
  }

  #state(updated: string): NodeState {
    return { kind: 'NodeState', metadata: metadata(this.#node), updated, writer: this.#writer, ...this.#content() };
  }

  async #write(): Promise<void> {
    const { clock, random, log, writeNodeState } = this.#components;
    this.#due = Number.POSITIVE_INFINITY;
    try {
      if (this.#mayWrite(this.#writer)) await writeNodeState(this.#state(clock.date().toISOString()));
    } catch (error) {
      // A directory that takes no records is logged once for all records.
      const { code } = error as { readonly code?: unknown };
      log[code === 'notWritten' ? 'debug' : 'warn']({ error }, 'the state of the node was not written; retrying');
    }
    this.#schedule(limits.reportEveryMilliseconds * (0.75 + 0.25 * random()));
  }
}

function metadata(name: string): Metadata {
  return { namespace: '', name, uid: '', resourceVersion: '', labels: {}, annotations: {}, creationTimestamp: '', deleting: false };
}
