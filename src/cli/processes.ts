import process from 'node:process';
import { systemClock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import type { MakeCommand } from './context/command-context.ts';
import type { CalledAs } from './context/called-as.ts';
import { textLog } from './process/text-log.ts';

/**
 * Commands that keep running, in contrast to those that print and end. `npm run build:kubectl` replaces this file by kubectl-processes.ts.
 */
export const processCommands: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  controller: async () => (await import('./process/controller-command.ts')).controllerCommand,
  agent: async () => (await import('./process/agent-command.ts')).agentCommand,
  run: async () => (await import('./process/run-command.ts')).runCommand,
};

/** bin/kubectl-herald says that kubectl runs this program. */
export const calledAs: CalledAs = process.env['HERALD_CALLED_AS'] === 'kubectl herald' ? 'kubectl herald' : 'herald';

export const example: string = 'herald run examples/one-host     controller and agent of this host, from a directory of manifests';

/** Logs to standard output, which takes JSON as `BatchedLines` writes it. */
export async function processLog(level: string, format: 'json' | 'text' = 'json'): Promise<Log> {
  if (format === 'text')
    return textLog(
      level,
      () => systemClock.date(),
      (line) => void process.stdout.write(`${line}\n`),
    );
  const { pino, stdSerializers } = await import('pino');
  const { BatchedLines, warning } = await import('./process/batched-lines.ts');
  const lines = new BatchedLines(pino.destination({ dest: 1, sync: true }), systemClock);
  process.on('exit', () => lines.flush());
  const stream = {
    // pino then sets the level of each line before it writes it.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string): void {
      lines.write(line, this.lastLevel >= warning);
    },
  };
  const formatters = { level: (name: string) => ({ level: name }) };
  const options = { level, base: null, formatters, timestamp: pino.stdTimeFunctions.isoTime, serializers: { error: stdSerializers.err } };
  const log: Log = pino(options, stream);
  return log;
}
