import type { Cancel } from '../../../src/system/clock.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

/** Knows whether --watch 7 is between two readings: while requests are under way time stands still. */
export class PausingClock extends VirtualClock {
  isPausing = false;

  override after(milliseconds: number, callback: () => void): Cancel {
    if (milliseconds !== 7000) return super.after(milliseconds, callback);
    this.isPausing = true;
    return super.after(milliseconds, () => {
      this.isPausing = false;
      callback();
    });
  }
}
