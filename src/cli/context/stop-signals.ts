/** SIGTERM and SIGINT as a command sees them. */
export interface StopSignals {
  /** Aborts at the first signal. Its reason is the name of the signal. */
  readonly stopped: AbortSignal;
  /**
   * Registers a callback for a further signal, by which a waiting command cuts its wait short. Returns a function that removes the
   * callback.
   */
  readonly onHurry: OnHurry;
}

type OnHurry = (hurry: () => void) => () => void;

/**
 * The first signal asks for a graceful stop. A further signal calls the callbacks of `onHurry`, or ends the process at once when there are
 * none.
 */
export function stopSignals(listen: (signal: 'SIGTERM' | 'SIGINT', heard: () => void) => void, endProcess: () => void): StopSignals {
  const controller = new AbortController();
  const waiting = new Set<() => void>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    listen(signal, () => {
      if (!controller.signal.aborted) controller.abort(signal);
      else if (waiting.size === 0) endProcess();
      else for (const hurry of waiting) hurry();
    });
  }
  return {
    stopped: controller.signal,
    onHurry: (hurry) => {
      waiting.add(hurry);
      return () => void waiting.delete(hurry);
    },
  };
}

/** Commands that only read, compute and print, with the further words for them. */
const onlyPrint: ReadonlySet<string> = new Set('explain history import peer peers plan pool pools route routes status version'.split(' '));

/**
 * Returns whether a signal ends the command of these words as it ends any program: no handler could run while it computes, and nothing is left to do.
 * Under --watch, a signal is the usual end, so that the command has its own exit status.
 */
export function endsAtOnce(words: readonly string[]): boolean {
  const [command = ''] = words;
  return onlyPrint.has(command) && !words.some((word) => /^(--watch(=|$)|-[A-Za-z]*w)/.test(word) && !word.startsWith('-o'));
}
