import { conditionTypes } from '../../model/objects/condition-types.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { RecordedStatus } from '../status-writer.ts';

/**
 * Services to which another controller, or an earlier process, gave what they ask for. In a large cluster a new leader needs long to judge the
 * conditions of all of them, and a Service without an address must not wait for that. So the controller first decides on the addresses of all
 * Services, which is quick, in the order that protects them, and then judges the conditions of those whose addresses stay.
 */
export class DeferredServices {
  readonly #judge: (key: ServiceKey) => void;
  /** Services whose addresses have not been decided on yet. */
  readonly #undecided = new Set<ServiceKey>();
  readonly #later = new Set<ServiceKey>();

  constructor(judge: (key: ServiceKey) => void) {
    this.#judge = judge;
  }

  adopt({ conditions = new Map() }: Pick<RecordedStatus, 'conditions'>, isNear: (key: ServiceKey) => boolean): void {
    for (const [key, recorded] of conditions)
      if (recorded.some(({ type, status }) => type === conditionTypes.addressAssigned && status === 'True') && isNear(key))
        this.#undecided.add(key);
  }

  /** Called when the Service is reconciled. Returns true the first time: if its addresses stay, its conditions can be judged later. */
  take(key: ServiceKey): boolean {
    const isFirst = this.#undecided.delete(key);
    this.#judgeDue();
    return isFirst;
  }

  /** Something about the Service has changed, so its conditions are judged as soon as its addresses are decided on. */
  forgetService(key: ServiceKey): void {
    this.#later.delete(key);
    this.take(key);
  }

  judgeLater(key: ServiceKey): void {
    this.#later.add(key);
    this.#judgeDue();
  }

  /** Has all that wait judged, also before the others are decided on. */
  judgeNow(): void {
    const due = [...this.#later];
    this.#later.clear();
    for (const key of due) this.#judge(key);
  }

  #judgeDue(): void {
    if (this.#undecided.size === 0) this.judgeNow();
  }
}
