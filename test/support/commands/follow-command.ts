import { spawn } from 'node:child_process';
import { streamsOf, type CommandLine } from '../../../src/dataplane/run-command.ts';

/** Runs a command until it is stopped, and passes on its standard output line by line, without line ends. */
export function followCommand(
  command: CommandLine,
  maximumLine: number,
  onLine: (line: string) => void,
  onEnd: (why: string) => void,
): { stop(): Promise<void> } {
  const [file, ...args] = command;
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let rest = '';
  let stderr = '';
  let over = false;
  const ended = Promise.withResolvers<void>();
  const end = (why: string): void => {
    ended.resolve();
    if (over) return;
    over = true;
    onEnd(why);
  };
  child.on('error', (error) => end(error.message));
  child.on('close', (status, signal) => end(`ended with ${signal ?? status}: ${stderr.trim()}`));
  const streams = streamsOf(child);
  streams?.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = (lines.pop() ?? '').slice(0, maximumLine);
    for (const line of lines) if (!over) onLine(line);
  });
  streams?.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-1_024);
  });
  return {
    async stop() {
      if (over) return;
      over = true;
      // A child that could not start for want of a file descriptor has a handle without a process ID: kill() would signal any process, or the own group.
      if (child.pid !== undefined) child.kill('SIGTERM');
      await ended.promise;
    },
  };
}
