import type { Clock } from '../../system/clock.ts';
import type { ControllerObserver, QueueFigures, QueueName } from '../controller-observer.ts';
import { isExpected, type WorkQueue } from './work-queue.ts';

/** Measures the reconciles of one queue. */
export class InstrumentedReconciler<K extends string> {
  readonly #queue: QueueName;
  readonly #work: (key: K) => Promise<void>;
  readonly #observer: ControllerObserver;
  readonly #clock: Clock;
  /** When each reconcile in progress began, earliest first. */
  readonly #since = new Map<K, number>();

  constructor(
    queue: QueueName,
    work: (key: K) => Promise<void>,
    { observer, clock }: { readonly observer: ControllerObserver; readonly clock: Clock },
  ) {
    this.#queue = queue;
    this.#work = work;
    this.#observer = observer;
    this.#clock = clock;
  }

  async run(key: K): Promise<void> {
    this.#since.set(key, this.#clock.now());
    try {
      await this.#work(key);
      this.#observer.reconcileFinished(this.#queue, 'done');
    } catch (error) {
      this.#observer.reconcileFinished(this.#queue, isExpected(error) ? 'retried' : 'failed');
      throw error;
    } finally {
      this.#since.delete(key);
    }
  }

  figures(queue: WorkQueue<K>): QueueFigures {
    const [longest] = this.#since.values();
    return {
      depth: queue.length,
      retries: queue.retrying,
      longestMilliseconds: longest === undefined ? 0 : this.#clock.now() - longest,
    };
  }
}
