import { KubeError } from '../kube/error.ts';
import type { Log } from '../system/log.ts';
import type { Environment } from './environment.ts';
import { openWorkplace, type WorkplaceOptions } from './open-workplace.ts';
import type { LogOptions } from './options.ts';
import type { Workplace } from './workplace.ts';

/** A part of Herald that runs until it is stopped. */
export interface Running {
  stop(): Promise<void>;
  /** Resolves when it must not go on: another process does its work by now. */
  readonly lost?: Promise<void>;
}

/** What every command that runs on does: read what there is, start its parts, wait for a signal, stop them in reverse order. */
export async function runUntilStopped(
  environment: Environment,
  { logLevel, ...options }: LogOptions & WorkplaceOptions,
  start: (workplace: Workplace, log: Log) => AsyncIterable<Running | undefined>,
): Promise<void> {
  const log = environment.log(logLevel);
  const workplace = await openWorkplace(environment, options, log);
  const running: Running[] = [];
  try {
    for await (const part of start(workplace, log)) if (part !== undefined) running.unshift(part);
    const lost = running.flatMap((part) => part.lost ?? []);
    await Promise.race([aborted(environment.stopped), ...lost.map((one) => one.then(endWithLoss))]);
    log.info({ signal: environment.stopped.reason as string }, 'stopping');
  } finally {
    for (const part of running) await part.stop();
    await workplace.close();
  }
}

/** With what this process knows nobody should work any more: whoever starts it again has it begin anew (docs/adr/0014). */
function endWithLoss(): never {
  throw new KubeError('notLeading', 'the Lease was lost: another controller may lead by now, and this one ends');
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
