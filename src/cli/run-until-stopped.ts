import type { Log } from '../system/log.ts';
import type { Environment } from './environment.ts';
import { openWorkplace, type WorkplaceOptions } from './open-workplace.ts';
import type { LogOptions } from './options.ts';
import type { Workplace } from './workplace.ts';

/** A part of Herald that runs until it is stopped. */
export interface Running {
  stop(): Promise<void>;
}

/** What every command that runs on does: read what there is, start its parts, wait for a signal, stop them in reverse order. */
export async function runUntilStopped(
  environment: Environment,
  { logLevel, ...options }: LogOptions & WorkplaceOptions,
  start: (workplace: Workplace, log: Log) => AsyncIterable<Running>,
): Promise<void> {
  const log = environment.log(logLevel);
  const workplace = await openWorkplace(environment, options, log);
  const running: Running[] = [];
  try {
    for await (const part of start(workplace, log)) running.unshift(part);
    await aborted(environment.stopped);
    log.info({ signal: environment.stopped.reason as string }, 'stopping');
  } finally {
    for (const part of running) await part.stop();
    await workplace.close();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
