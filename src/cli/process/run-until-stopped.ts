import { realpath } from 'node:fs/promises';
import { KubeError } from '../../kube/error.ts';
import type { LiveProcess } from '../../live/contract.ts';
import type { Log } from '../../system/log.ts';
import { requireDirectory, requireFree } from '../storage/directory-storage.ts';
import type { CommandContext } from '../context/command-context.ts';
import { openStorage, type StorageOptions } from './open-storage.ts';
import type { LiveOptions } from '../options/live-options.ts';
import type { LogOptions } from '../options/shared-options.ts';
import { ProcessEndpoints } from './endpoints/process-endpoints.ts';
import type { TelemetryOptions } from '../options/telemetry-options.ts';
import type { StorageBackend } from '../context/storage.ts';

/** A part of Herald that runs until it is stopped. */
export interface RunningComponent {
  stop(): Promise<void>;
  /** Resolves when the component must stop because another process may do its work already. */
  readonly lost?: Promise<void>;
}

export interface RunningOptions extends LogOptions, TelemetryOptions, LiveOptions, StorageOptions, Pick<LiveProcess, 'command'> {}

/** Runs a long-running command: reads the objects, starts the components, waits for a signal, stops the components in reverse order. */
export async function runUntilStopped(
  context: CommandContext,
  { logLevel, logFormat, metricsAddress, healthAddress, command, socket, live, ...options }: RunningOptions,
  start: (storage: StorageBackend, log: Log, endpoints: ProcessEndpoints) => AsyncIterable<RunningComponent | undefined>,
): Promise<void> {
  if (options.source !== undefined) {
    await requireDirectory(options.source);
    // A process that holds the directory holds the ports as well. This message says so better than a failed bind.
    await requireFree(options.source, options.node);
  }
  const log = await context.log(logLevel, logFormat);
  // First of all: the start may wait for an API server, and a liveness probe must not fail meanwhile.
  const endpoints = new ProcessEndpoints(context, { metricsAddress, healthAddress, command, socket, live }, log);
  let storage: StorageBackend | undefined;
  const running: RunningComponent[] = [];
  try {
    storage = await openStorage(context, options, log, endpoints);
    // After the directory was found. The real path, because clients may use another name for the directory.
    if (options.source !== undefined) endpoints.live.setProcess({ directory: await realpath(options.source) });
    for await (const part of start(storage, log, endpoints)) if (part !== undefined) running.unshift(part);
    const lost = running.flatMap((part) => part.lost ?? []);
    await Promise.race([aborted(context.stopped), ...lost.map((one) => one.then(exitAfterLeadershipLoss))]);
    log.info({ signal: context.stopped.reason as string }, 'stopping');
  } finally {
    for (const part of running) await part.stop();
    await storage?.close();
    await endpoints.close();
  }
}

/** Ends the process: its state may be stale, so it must not work on. A restarted process begins afresh (docs/adr/0014). */
function exitAfterLeadershipLoss(): never {
  throw new KubeError('notLeading', 'the Lease was lost: another controller may lead already, and this one ends');
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
