import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Monitor, NftExecutor } from './executor.ts';
import { monitorRestart, monitorSettle } from '../limits.ts';

interface WatchHandlers {
  /** True if a transaction that wrote this revision is ours. */
  readonly isOurs: (revision: number) => boolean;
  /** Another program touched our tables, or may have done so unseen. `what` says how the watch knows. */
  readonly onForeignChange: (what: string) => void;
}

/**
 * Reports transactions on our tables that are not ours: each of ours writes a number into the revision set. A monitor that
 * ends is started again (the monitor of nft 1.0.6 crashes on some elements of sets with intervals and concatenation); what it
 * missed meanwhile has to be looked for, so each start reports a possible change; the first one only where the monitor
 * does not hear from the beginning, because the tables are read after it.
 */
export function watchRuleset(executor: NftExecutor, clock: Clock, log: Log, handlers: WatchHandlers): { stop(): Promise<void> } {
  let stopped = false;
  let restarted = false;
  let delay: number = monitorRestart.first;
  let monitor: Monitor | undefined;
  let cancel: Cancel = () => undefined;

  const start = (): void => {
    monitor = executor.monitor({
      onChange({ revisions, what }) {
        delay = monitorRestart.first;
        // Every number of ours is taken back, also where there are several.
        const ours = revisions.filter((revision) => handlers.isOurs(revision));
        if (ours.length === 0) handlers.onForeignChange(what);
      },
      onLoss: handlers.onForeignChange,
      onEnd(why) {
        if (stopped) return;
        cancel();
        monitor = undefined;
        log.warn({ why, delay }, 'nftables monitor ended');
        cancel = clock.after(delay, start);
        delay = Math.min(delay * 2, monitorRestart.maximum);
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
