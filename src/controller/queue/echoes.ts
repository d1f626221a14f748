/**
 * Tells changes by others from echoes: the watch also reports what this process has written itself. Little can follow from an echo, so while many
 * Services wait for a status it is looked at last. It often arrives before the answer to the write, so a change that is reported during
 * work on its key is told apart when the work has ended.
 */
export class Echoes<K> {
  readonly #isOwnWrite: (key: K) => boolean;
  readonly #requeueKey: (key: K, when: 'soon' | 'last') => void;
  /** Keys at work. True: a change was reported meanwhile. */
  readonly #atWork = new Map<K, boolean>();

  /** `isOwnWrite` is true when the object is as the last write of this process left it. */
  constructor(isOwnWrite: (key: K) => boolean, requeue: (key: K, when: 'soon' | 'last') => void) {
    this.#isOwnWrite = isOwnWrite;
    this.#requeueKey = requeue;
  }

  /** The watch has reported the object. Requeues the key, now or when the work on it has ended. */
  changed(key: K): void {
    if (this.#atWork.has(key)) this.#atWork.set(key, true);
    else this.#requeue(key);
  }

  async during(key: K, work: () => Promise<void>): Promise<void> {
    this.#atWork.set(key, false);
    try {
      await work();
    } finally {
      const isChanged = this.#atWork.get(key) === true;
      this.#atWork.delete(key);
      if (isChanged) this.#requeue(key);
    }
  }

  #requeue(key: K): void {
    this.#requeueKey(key, this.#isOwnWrite(key) ? 'last' : 'soon');
  }
}
