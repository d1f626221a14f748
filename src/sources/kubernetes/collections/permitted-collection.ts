import { KubeError } from '../../../kube/error.ts';
import { Collection } from './collection.ts';

/** Objects that we may be forbidden to read. That is reported, and nothing waits for them. */
export abstract class PermittedCollection extends Collection {
  readonly #refused = Promise.withResolvers<void>();

  /** The affected feature, and the fix for operators. */
  protected abstract forbidden(): { readonly about: string; readonly fix: string };

  override get read(): Promise<void> {
    return Promise.race([super.read, this.#refused.promise]);
  }

  override failed(error: KubeError | undefined): void {
    if (error?.code !== 'forbidden') return super.failed(error);
    const { about, fix } = this.forbidden();
    super.failed(new KubeError('forbidden', `${about}${error.message}`, { cause: error, fix }));
    this.#refused.resolve();
  }
}
