import { systemClock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import type { MakeCommand } from './context/command-context.ts';
import { textLog } from './process/text-log.ts';

/**
 * Commands that keep running, in contrast to those that print and end. `npm run build:kubectl` replaces this file by kubectl-processes.ts.
 */
export const processCommands: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  controller: async () => (await import('./process/controller-command.ts')).controllerCommand,
  agent: async () => (await import('./process/agent-command.ts')).agentCommand,
  run: async () => (await import('./process/run-command.ts')).runCommand,
};

export const example: string = 'herald run examples/one-host     controller and agent of this host, from a directory of manifests';

/** Logs to standard output. */
export async function processLog(level: string, format: 'json' | 'text' = 'json'): Promise<Log> {
  if (format === 'text')
    return textLog(
      level,
      () => systemClock.date(),
      (line) => void process.stdout.write(`${line}\n`),
    );
  const { pino, stdSerializers } = await import('pino');
  const log: Log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { error: stdSerializers.err } });
  return log;
}
