import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};

/** Returns whether Node finds the package from this place: in its own node_modules, or in that of a folder above. */
function isLocked(from: string, name: string): boolean {
  if (packages[join(from, 'node_modules', name)] !== undefined) return true;
  const above = from.lastIndexOf('node_modules/');
  return above > 0 ? isLocked(from.slice(0, above - 1), name) : from !== '' && isLocked('', name);
}

test('the lock file has every dependency for every platform, without which npm ci refuses to begin', () => {
  const missing = Object.entries(packages).flatMap(([path, { dependencies = {}, optionalDependencies = {} }]) =>
    [...Object.keys(dependencies), ...Object.keys(optionalDependencies)]
      .filter((name) => !isLocked(path, name))
      .map((name) => `${path}: ${name}`),
  );
  expect(missing).toEqual([]);
});
