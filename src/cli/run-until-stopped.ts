import type { Source } from '../sources/source.ts';
import type { Log } from '../system/log.ts';
import type { Environment } from './environment.ts';
import { openSource } from './open-source.ts';

/** A part of Herald that runs until it is stopped. */
export interface Running {
  stop(): Promise<void>;
}

/** What every command that runs on does: read the directory, start its parts, wait for a signal, stop them in reverse order. */
export async function runUntilStopped(
  environment: Environment,
  { directory, logLevel }: { readonly directory: string; readonly logLevel: string },
  start: (source: Source, log: Log) => AsyncIterable<Running>,
): Promise<void> {
  const log = environment.log(logLevel);
  const source = await openSource(environment, directory, log);
  const running: Running[] = [];
  try {
    for await (const part of start(source, log)) running.unshift(part);
    await aborted(environment.stopped);
    log.info({ signal: environment.stopped.reason as string }, 'stopping');
  } finally {
    for (const part of running) await part.stop();
    await source.close();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
