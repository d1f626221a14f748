import { spawnSync } from 'node:child_process';
import { environment } from '../../lab/command.ts';

/** Returns the first number with a dot in the version output of a program. */
export function versionOf([program = '', ...rest]: readonly string[]): string {
  const { stdout, stderr } = spawnSync(program, rest, { encoding: 'utf8', env: environment() });
  return /\d+\.[\w.]+/.exec(`${stdout}${stderr}`)?.[0] ?? 'unknown';
}
