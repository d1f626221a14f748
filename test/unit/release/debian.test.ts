import { describe, expect, test } from 'vitest';
import { closure, readPackageList } from '../../../scripts/release/debian/package-lists.ts';
import { architectures, leftOut, purlOf, readPinned, roots, snapshotOf } from '../../../scripts/release/debian/pinned.ts';

const list = `Package: tool
Source: tools (1.2)
Version: 2
Depends: libone (>= 1),
 libtwo:any | libthree, shell
Pre-Depends: base
Filename: pool/main/t/tool_2.deb
Size: 12
SHA256: ${'a'.repeat(64)}

Package: tool
Version: 10
Depends: libone
Filename: pool/main/t/tool_10.deb
Size: 13
SHA256: ${'b'.repeat(64)}

Package: libone
Version: 1

Package: libthree
Version: 1

Package: dash
Version: 1
Provides: shell, sh (= 1)

Package: base
Version: 1
Depends: tool
`;
const byNumber = (one: string, other: string): number => Number(one) - Number(other);
const chosen = (wanted: readonly string[], without: readonly string[] = [], text = list): string[] =>
  closure(readPackageList(text), wanted, new Set(without), byNumber).map(({ name, version }) => `${name} ${version}`);

describe("a list of Debian's packages", () => {
  test('all fields of a package are read', () => {
    expect(readPackageList(list)[0]).toEqual({
      name: 'tool',
      version: '2',
      source: 'tools',
      file: 'pool/main/t/tool_2.deb',
      size: 12,
      sha256: 'a'.repeat(64),
      dependencies: [['base'], ['libone'], ['libtwo', 'libthree'], ['shell']],
      provides: [],
    });
  });

  test('of two versions the newer is taken, with its dependencies', () => {
    expect(chosen(['tool'])).toEqual(['libone 1', 'tool 10']);
  });

  test('of alternatives the first that exists is taken, also if another package provides it', () => {
    const older = list.replace('Version: 10', 'Version: 1');
    expect(chosen(['tool'], [], older)).toEqual(['base 1', 'dash 1', 'libone 1', 'libthree 1', 'tool 2']);
    expect(chosen(['tool'], ['shell', 'base'], older)).toEqual(['libone 1', 'libthree 1', 'tool 2']);
  });

  test('a package that is in no list is named', () => {
    expect(() => chosen(['base', 'missing'])).toThrow('the image needs missing, which is in no list');
  });
});

describe('the packages of the image', () => {
  const pinned = readPinned();

  test('are the packages that the image needs, without the excluded ones', () => {
    for (const architecture of architectures) {
      const names = pinned.packages[architecture].map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(Object.keys(roots)));
      expect(names.filter((name) => name in leftOut)).toEqual([]);
      expect(names).toEqual([...new Set(names)].toSorted());
    }
  });

  test('are the same for both architectures, except for rebuilds of one', () => {
    const [amd64, arm64] = architectures.map((one) =>
      pinned.packages[one].map(({ name, version }) => `${name} ${version.replace(/\+b\d+$/, '')}`),
    );
    expect(amd64).toEqual(arm64);
  });

  test('have a file, its digest and a place where Debian keeps it', () => {
    for (const architecture of architectures) {
      for (const one of pinned.packages[architecture]) {
        expect(one.sha256).toMatch(/^[0-9a-f]{64}$/);
        expect(one.file).toMatch(new RegExp(`^pool/\\S+_(${architecture}|all)\\.deb$`));
        expect(snapshotOf(one, pinned.snapshot)).toMatch(
          /^http:\/\/snapshot\.debian\.org\/archive\/debian(-security)?\/\d{8}T\d{6}Z\/pool\/\S+$/,
        );
        expect(purlOf(one, architecture, pinned.release)).toMatch(/^pkg:deb\/debian\/[^@]+@[^?]+\?arch=(amd64|arm64)&distro=trixie/);
      }
    }
  });
});
