import { LabProcess } from '../lab/lab-process.ts';

/**
 * A program of Kubernetes that runs until `stop`; its output goes to the file. The kernel ends it when this process is killed, so that
 * none is left behind (PR_SET_PDEATHSIG, prctl(2)).
 */
export function foreground(argv: readonly string[], logFile: string): LabProcess {
  return new LabProcess(endedWithUs(argv), { logFile, record: () => undefined });
}

/** The command line that runs `argv`, under the same process id, and has it killed when whoever started it is no more. */
export function endedWithUs(argv: readonly string[]): readonly string[] {
  return ['setpriv', '--pdeathsig', 'KILL', '--', ...argv];
}
