import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { changesOf } from '../../../scripts/release/changelog.ts';
import { obstacle, type Situation } from '../../../scripts/release/checks.ts';
import { placesOfVersion, withVersion } from '../../../scripts/release/commit.ts';
import { compareVersions, parseVersion, type Version } from '../../../scripts/release/semver.ts';

const root = join(import.meta.dirname, '../../..');
const version = (text: string): Version => {
  const parsed = parseVersion(text);
  if (parsed === undefined) throw new Error(text);
  return parsed;
};

describe('a version', () => {
  test.each(['0.2', 'v0.2.0', '0.2.0.1', '01.2.0', '0.2.0-', '0.2.0-01', '0.2.0+build', '0.2.0 ', ''])('"%s" is refused', (text) => {
    expect(parseVersion(text)).toBeUndefined();
  });

  test('versions have the order of semver.org', () => {
    const ascending = [
      '0.1.9',
      '0.2.0-alpha',
      '0.2.0-alpha.1',
      '0.2.0-alpha.beta',
      '0.2.0-beta',
      '0.2.0-rc.2',
      '0.2.0-rc.11',
      '0.2.0',
      '0.10.0',
      '1.0.0',
    ];
    fc.assert(
      fc.property(fc.shuffledSubarray(ascending, { minLength: 2 }), (some) => {
        const sorted = some.map(version).toSorted(compareVersions);
        expect(sorted).toEqual(ascending.filter((one) => some.includes(one)).map(version));
      }),
    );
    expect(compareVersions(version('1.2.3-rc.1'), version('1.2.3-rc.1'))).toBe(0);
  });
});

describe('what prevents a release', () => {
  const ready: Situation = {
    version: '0.2.0',
    commit: { changed: [], tags: [{ name: 'v0.1.0', here: false }] },
    changelog: '# Changelog\n\n## Unreleased\n\n### Added\n- A thing.\n\n## 0.1.0\n\n- The first.\n',
    machine: { system: 'linux x64', node: '24.1.0' },
    node: '24.1.0',
    differentPackages: [],
  };

  test('nothing, when everything is right', () => {
    expect(obstacle(ready)).toBeUndefined();
    expect(obstacle({ ...ready, commit: { changed: [], tags: [] } })).toBeUndefined();
  });

  test('nothing, when the commit already has the tag of the version', () => {
    const tags = [...ready.commit.tags, { name: 'v0.2.0', here: true }];
    expect(obstacle({ ...ready, commit: { changed: [], tags } })).toBeUndefined();
  });

  const cases: [string, Partial<Situation>, string][] = [
    ['a word in place of a version', { version: 'v0.2.0' }, 'v0.2.0 is no version'],
    ['a changed file', { commit: { changed: [' M src/a.ts', '?? b'], tags: [] } }, '2 files differ from the commit, the first is src/a.ts'],
    ['the version of the last tag', { version: '0.1.0' }, '0.1.0 does not come after the last tag, v0.1.0'],
    [
      'the tag of the version at another commit',
      { commit: { changed: [], tags: [{ name: 'v0.2.0', here: false }] } },
      'does not come after the last tag, v0.2.0',
    ],
    ['a pre-release of an earlier version', { version: '0.1.0-rc.1' }, 'does not come after the last tag'],
    ['a changelog without the version', { changelog: '# Changelog\n\n## 0.1.0\n- The first.\n' }, 'CHANGELOG.md has no change of 0.2.0'],
    [
      'a changelog with an empty section',
      { changelog: '## Unreleased\n\n### Added\n\n## 0.1.0\n- x\n' },
      'CHANGELOG.md has no change of 0.2.0',
    ],
    ['another machine', { machine: { system: 'linux arm64', node: '24.1.0' } }, 'this machine is linux arm64'],
    ['another Node.js', { machine: { system: 'linux x64', node: '24.0.9' } }, 'this is Node.js 24.0.9'],
    ['other packages in node_modules', { differentPackages: ['yaml 2.9.1'] }, 'the first is yaml 2.9.1: run npm ci --ignore-scripts'],
  ];
  test.each(cases)('%s prevents it, with a sentence', (_, change, sentence) => {
    expect(obstacle({ ...ready, ...change })).toContain(sentence);
  });
});

describe('the changes of a version', () => {
  const changelog = '# Changelog\n\n## Unreleased\n- New.\n\n## 0.2.0 (2026-11-23)\n\n### Added\n- Two.\n\n## 0.1.0\n- One.\n';

  test.each([
    ['0.2.0', '### Added\n- Two.'],
    ['0.1.0', '- One.'],
    ['0.3.0', '- New.'],
  ])('of %s come from its own section, or from what is unreleased', (wanted, text) => {
    expect(changesOf(changelog, wanted)).toBe(text);
  });

  test("this repository's changelog has changes, and they fit into the notes of a release", () => {
    const ours = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
    const [, last = ''] = /^## (\S+)/m.exec(ours) ?? [];
    const text = changesOf(ours, last) ?? '';
    expect(text.length).toBeGreaterThan(10);
    expect(text.length).toBeLessThan(124_000);
  });
});

describe('the version in a file', () => {
  test('is replaced where it stands, and nowhere else', () => {
    const text = 'version: 0.1.0\nappVersion: 0.1.0\nother: 0.1.0\n';
    expect(withVersion('f', text, { lines: ['version: '], before: '0.1.0', after: '0.2.0-rc.1' })).toBe(
      'version: 0.2.0-rc.1\nappVersion: 0.1.0\nother: 0.1.0\n',
    );
    expect(withVersion('f', 'a: 0.1.0-rc\n  a: 0.1.0";\n', { lines: ['a: '], before: '0.1.0', after: '1.0.0' })).toBe(
      'a: 0.1.0-rc\n  a: 1.0.0";\n',
    );
  });

  test('must be there once', () => {
    const lines = ['version: '];
    expect(() => withVersion('f', 'version: 0.1.1\n', { lines, before: '0.1.0', after: '0.2.0' })).toThrow(
      'f: one line should begin with version: 0.1.0, and 0 do',
    );
    expect(() => withVersion('f', 'version: 0.1.0\n version: 0.1.0\n', { lines, before: '0.1.0', after: '0.2.0' })).toThrow('and 2 do');
  });

  test.each(Object.entries(placesOfVersion))('%s has the version in each place that a release replaces', (path, lines) => {
    const text = readFileSync(join(root, path), 'utf8');
    const { version: before } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(withVersion(path, text, { lines, before, after: '99.0.0' })).toContain('99.0.0');
  });
});
