import { globSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** Tests and benches that a package has beside its code. */
const besideTheCode = /^(src|providers)\/[^/]+\/(test|bench)\//;

/** Returns the files of the program below the folders, from the root of the repository: without tests and benches of packages. */
export function sourceFiles(folders = '{src,providers}', name = '*.ts'): string[] {
  return globSync(`${folders}/**/${name}`, { cwd: root }).filter((file) => !besideTheCode.test(file));
}

/** True for a file of tests that `npm test` runs: those of the core in test/unit, those of a package beside its code. */
export function isUnitTest(file: string): boolean {
  return file.endsWith('.test.ts') && (file.startsWith('test/unit/') || (packageTests.test(file) && !otherSuites.test(file)));
}

const packageTests = /^(src|providers)\/[^/]+\/test\/|^console\/test\//;
/** They need an emulator of AWS or Chromium. */
const otherSuites = /^providers\/aws\/test\/moto\/|^console\/test\/browser\//;
