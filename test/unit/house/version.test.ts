import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { placesOfVersion, withVersion } from '../../../scripts/release/commit.ts';
import { version } from '../../../src/model/objects/version.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const migrations = globSync('docs/how-to/migrate-from-*.md', { cwd: root });

/** "herald:1.2.3", "herald-chart-1.2.3.tgz", "herald-1.2.3-crds.yaml" */
const named = /herald(?:-chart-|-|:)(\d+\.\d+\.\d+)/g;

test('package-lock.json and the program have the same version', () => {
  const lock = JSON.parse(read('package-lock.json')) as { version: string; packages: { '': { version: string } } };
  expect([lock.version, lock.packages[''].version]).toEqual([version, version]);
});

test.each(Object.entries(placesOfVersion))('%s has the version of the program', (path, lines) => {
  expect(withVersion(path, read(path), { lines, before: version, after: '1.2.3' })).toContain(`${lines[0]}1.2.3`);
});

test.each(['README.md', 'Containerfile', 'docs/quick-start.md', 'docs/how-to/install.md', 'docs/tutorial-kind.md', ...migrations])(
  '%s names the files and images of this version',
  (page) => {
    const versions = [...read(page).matchAll(named)].map(([, one]) => one);
    expect(versions.length).toBeGreaterThan(0);
    expect(new Set(versions)).toEqual(new Set([version]));
  },
);
