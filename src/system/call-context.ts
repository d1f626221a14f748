import { AsyncLocalStorage } from 'node:async_hooks';

/** A value that all work has which `run` starts, also the work that it causes later, without a parameter in each function between them. */
export class CallContext<T> {
  readonly #storage = new AsyncLocalStorage<T>();

  run<R>(value: T, work: () => R): R {
    return this.#storage.run(value, work);
  }

  /** Undefined: no `run` has started the work that asks. */
  get value(): T | undefined {
    return this.#storage.getStore();
  }
}
