import { maximumFaults } from '../../limits.ts';
import { errorCode } from '../codes.ts';
import { fault, type Disposition, type Fault } from '../fault.ts';

const strength: Readonly<Record<Disposition, number>> = { discard: 1, withdraw: 2, reset: 3 };

/**
 * Collects the faults of one UPDATE; the strongest decides (RFC 7606 3 h). The number kept is limited, so that a message full of faults
 * costs no more than others. The first of the strongest faults is always kept.
 */
export class UpdateFaults {
  readonly list: Fault[] = [];
  #strongest: Fault | undefined;

  get strongest(): Fault | undefined {
    return this.#strongest;
  }

  /** Adds a fault. The text is made only if the fault is kept. `data` goes into the NOTIFICATION (RFC 4271 6.3). */
  add(disposition: Disposition, subcode: number, problem: () => string, data?: Uint8Array): void {
    const stronger = this.#strongest === undefined || strength[disposition] > strength[this.#strongest.disposition];
    const full = this.list.length >= maximumFaults;
    if (full && !stronger) return;
    const found = fault(disposition, errorCode.update, subcode, problem(), data?.slice());
    if (stronger) this.#strongest = found;
    if (full) this.list.pop();
    this.list.push(found);
  }
}
