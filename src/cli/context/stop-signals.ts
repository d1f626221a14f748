/** What SIGTERM and SIGINT tell a process. */
export interface StopSignals {
  /** Aborts at the first signal. Its reason is the name of the signal. */
  readonly stopped: AbortSignal;
  /** Who only waits before it stops is told of a further signal. Returns what ends that. */
  readonly onHurry: OnHurry;
}

type OnHurry = (hurry: () => void) => () => void;

/** The first signal asks for a graceful stop. A further one ends what is only waited for, and where nobody waits, the process at once. */
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
