import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../src/model/objects/version.ts';

/** Writes a shell script as a program of the reader. */
export function writeProgram(programs: string, name: string, script: string): void {
  writeFileSync(join(programs, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/**
 * Writes an `npm` for the reader of a clone. `npm ci` does nothing, because the packages are installed. `npm run release` takes the files of a
 * release from a folder. It does everything else as npm does.
 */
export function writeNpm(programs: string, release: string): void {
  const build = `rm -rf dist-release; mkdir dist-release; ln '${release}'/* dist-release/ 2>&- || cp '${release}'/* dist-release/`;
  const lines = [
    'case "$*" in',
    '"ci --ignore-scripts") ;;',
    `"run release -- ${version} --dry-run") ${build} ;;`,
    // The folder of this script comes first.
    '*) PATH=${PATH#*:} exec npm "$@" ;;',
    'esac',
  ];
  writeProgram(programs, 'npm', lines.join('\n'));
}
