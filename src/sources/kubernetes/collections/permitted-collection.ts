import { KubeError } from '../../../kube/error.ts';
import type { RawObject } from '../../../kube/raw-object.ts';
import type { ParseResult } from '../../../model/parse.ts';
import { Collection, type CollectionEvents, type CollectionKind, type Destination } from './collection.ts';

/** The affected feature, and the fix for operators. */
interface Refusal {
  readonly about: string;
  readonly fix: string;
}

/** Objects that we may be forbidden to read. That is reported with `refusal`, and nothing waits for them. */
export class PermittedCollection extends Collection {
  readonly #refused = Promise.withResolvers<void>();
  readonly #refusal: Refusal;

  constructor(
    kind: CollectionKind,
    destination: Destination,
    events: CollectionEvents,
    refusal: Refusal,
    parse?: (raw: RawObject) => ParseResult,
  ) {
    super(kind, destination, events, parse);
    this.#refusal = refusal;
  }

  override get read(): Promise<void> {
    return Promise.race([super.read, this.#refused.promise]);
  }

  override failed(error: KubeError | undefined): void {
    if (error?.code !== 'forbidden') return super.failed(error);
    const { about, fix } = this.#refusal;
    super.failed(new KubeError('forbidden', `${about}${error.message}`, { cause: error, fix }));
    this.#refused.resolve();
  }
}
