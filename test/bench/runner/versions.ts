import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { programPath, type Program } from '../../conformance/programs.ts';
import { environment } from '../../lab/command.ts';

/** Returns the first number with a dot in the version output of a program. */
export function versionOf([program = '', ...rest]: readonly string[]): string {
  const { stdout, stderr } = spawnSync(program, rest, { encoding: 'utf8', env: environment() });
  return /\d+\.[\w.]+/.exec(`${stdout}${stderr}`)?.[0] ?? 'unknown';
}

/** FRR plays the routers of the labs. */
export const frr = (): Readonly<Record<string, string>> => ({ FRR: versionOf(['/usr/lib/frr/bgpd', '--version']) });

export function programs(...names: readonly Program[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, versionOf([programPath(name), '--version'])]));
}

/** Returns the version of an npm package that takes part. */
export function packages(...names: readonly string[]): Readonly<Record<string, string>> {
  const modules = join(import.meta.dirname, '../../../node_modules');
  return Object.fromEntries(
    names.map((name) => [name, (JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')) as { version: string }).version]),
  );
}

/** Returns the version of a Go module that a go.mod of test/conformance requires. */
export function goModule(module: string, folder: string): string {
  const text = readFileSync(join(import.meta.dirname, '../../conformance', folder, 'go.mod'), 'utf8');
  const line = text.split('\n').find((each) => each.startsWith(`\t${module} v`));
  return line?.split(' ')[1]?.slice(1) ?? 'unknown';
}
