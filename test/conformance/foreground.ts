import { LabProcess } from '../lab/lab-process.ts';

/**
 * Starts a program of Kubernetes that runs until it is killed and logs to the file. The kernel also kills it when this process is killed
 * (PR_SET_PDEATHSIG, prctl(2)), so none is left behind.
 */
export function foreground(argv: readonly string[], logFile: string): LabProcess {
  return new LabProcess(killedWithParent(argv), { logFile, record: () => undefined });
}

/** Returns a command line that runs `argv` under the same process ID and has the kernel kill it when its parent ends. */
export function killedWithParent(argv: readonly string[]): readonly string[] {
  return ['setpriv', '--pdeathsig', 'KILL', '--', ...argv];
}
