import type { Cancel } from '../../../src/system/clock.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

/** Knows whether --watch 7 pauses between two readings. The clock stands still during requests. */
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
