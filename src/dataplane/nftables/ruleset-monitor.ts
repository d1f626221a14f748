import { BackOff } from '../../system/back-off.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Monitor, NftExecutor } from './executor.ts';
import { monitorRestart, monitorSettle } from '../limits.ts';

const delays = { minimumMilliseconds: monitorRestart.first, maximumMilliseconds: monitorRestart.maximum, jitter: 0 };

interface WatchHandlers {
  /** Returns true if our own transaction wrote this revision. */
  readonly isOurs: (revision: number) => boolean;
  /** Called when another program changed our tables, or may have done so unseen. `what` describes the event. */
  readonly onForeignChange: (what: string) => void;
}

/**
 * Reports transactions on our tables that are not ours. Each of our transactions writes a number into the revision set, by which it is
 * recognised. A monitor that ends is restarted (the monitor of nft 1.0.6 crashes on some elements of sets with intervals and
 * concatenation). It may have missed changes meanwhile, so each restart reports a possible change. The first start does so only if the
 * monitor is not subscribed at once, because the tables are read after it.
 */
export function watchRuleset(executor: NftExecutor, clock: Clock, log: Log, handlers: WatchHandlers): { stop(): Promise<void> } {
  let stopped = false;
  let restarted = false;
  const backOff = new BackOff(() => 0, delays);
  let monitor: Monitor | undefined;
  let cancel: Cancel = () => undefined;

  const start = (): void => {
    monitor = executor.monitor({
      onChange({ revisions, what }) {
        backOff.succeeded();
        // Every revision is checked, because `isOurs` also removes it from the expected ones.
        const ours = revisions.filter((revision) => handlers.isOurs(revision));
        if (ours.length === 0) handlers.onForeignChange(what);
      },
      onLoss: handlers.onForeignChange,
      onEnd(why) {
        if (stopped) return;
        cancel();
        monitor = undefined;
        const delay = backOff.failed();
        log.warn({ why, delay }, 'nftables monitor ended');
        cancel = clock.after(delay, start);
      },
    });
    const missesNothing = !restarted && monitor.subscribed;
    if (!missesNothing) cancel = clock.after(monitorSettle, () => handlers.onForeignChange('the monitor was started'));
    restarted = true;
  };
  start();
  return {
    async stop() {
      stopped = true;
      cancel();
      await monitor?.stop();
    },
  };
}
