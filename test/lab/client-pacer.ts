/** Milliseconds between two looks at the clock. */
const tickMs = 2;

/** A pacer that was held up sends at this many times its rate until it has caught up, and no faster, so that no queue overflows. */
const catchUp = 4;

/** The most time in milliseconds that one look at the clock catches up. */
const longestTickMs = 100;

/**
 * Calls `send` once each interval by the clock: an open loop. Calls that were due while the process had no CPU are made afterwards, so that
 * a busy machine lowers neither count nor load; setInterval would skip them. Returns a function that stops it.
 */
export function pace(intervalMs: number, send: () => void): () => void {
  const start = performance.now();
  let [sent, last] = [0, start];
  const timer = setInterval(
    () => {
      const now = performance.now();
      const most = Math.max(1, Math.ceil((catchUp * Math.min(now - last, longestTickMs)) / intervalMs));
      last = now;
      for (let left = Math.min(Math.floor((now - start) / intervalMs) - sent, most); left > 0; left--) {
        sent++;
        send();
      }
    },
    Math.min(tickMs, intervalMs),
  );
  return () => clearInterval(timer);
}
