import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { addNote } from '../../../scripts/elf-note.ts';
import { krewManifest } from '../../../scripts/krew-manifest.ts';
import { tarball } from '../../../scripts/tarball.ts';
import { version } from '../../../src/model/objects/version.ts';

/** A plugin manifest by the rules of https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/ and of its naming guide. */
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly spec: {
    readonly version: string;
    readonly shortDescription: string;
    readonly description: string;
    readonly caveats: string;
    readonly platforms: readonly {
      readonly selector: { readonly matchLabels: { readonly os: string; readonly arch: string } };
      readonly uri: string;
      readonly sha256: string;
      readonly bin: string;
    }[];
  };
}

const anywhere = { uri: 'https://releases.example/k.tar.gz', sha256: 'a'.repeat(64) };
const amd64 = { uri: 'https://releases.example/k-linux-amd64.tar.gz', sha256: 'b'.repeat(64) };

test('the manifest follows the rules of krew', () => {
  const { apiVersion, kind, metadata, spec } = krewManifest({ version, anywhere, linux: { amd64 } }) as Manifest;
  expect({ apiVersion, kind }).toEqual({ apiVersion: 'krew.googlecontainertools.github.com/v1alpha2', kind: 'Plugin' });
  expect(metadata).toEqual({ name: 'herald' });
  expect(spec.version).toMatch(/^v\d+\.\d+\.\d+(-[\w.]+)?$/);
  expect(spec.shortDescription).toMatch(/^[^\n]{1,60}[^\n.]$/);
  for (const line of spec.description.split('\n')) expect(line).toBe(line.trim());
  expect(spec.platforms.map(({ selector, uri }) => [selector.matchLabels, uri])).toEqual([
    [{ os: 'linux', arch: 'amd64' }, amd64.uri],
    [{ os: 'linux', arch: 'arm64' }, anywhere.uri],
    [{ os: 'darwin', arch: 'amd64' }, anywhere.uri],
    [{ os: 'darwin', arch: 'arm64' }, anywhere.uri],
  ]);
  expect(spec.caveats).toContain('Needs Node.js 24 or later on the PATH on macOS and Linux on arm64.');
  for (const { uri, sha256: digest, bin } of spec.platforms) {
    expect(uri).toMatch(/^https:\/\/.*\.(tar\.gz|zip)$/);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(bin).toMatch(/^[^/\\]+$/);
  }
});

describe('a note in a program', () => {
  test.each(['/bin/true', process.execPath])('%s runs with a note, and ends as before', (program) => {
    const directory = mkdtempSync(join(tmpdir(), 'herald-note-'));
    const copy = join(directory, 'program');
    try {
      const noted = addNote(readFileSync(program), 'HERALD_TEST', Buffer.from('content of the note'));
      writeFileSync(copy, noted, { mode: 0o755 });
      expect(execFileSync(copy, ['--version']).toString()).toBe(execFileSync(program, ['--version']).toString());
      const at = noted.indexOf('HERALD_TEST\0');
      expect(noted.readUInt32LE(at - 8)).toBe('content of the note'.length);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test('a file that is no program is refused', () => {
    expect(() => addNote(Buffer.from('#!/bin/sh'), 'X', Buffer.alloc(1))).toThrow('not an ELF program');
  });
});

test('an archive is reproducible, and tar can unpack it', () => {
  const files = [
    { name: 'program', content: Buffer.from('#!/bin/sh\necho ran\n'), executable: true },
    { name: 'exactly-one-block', content: Buffer.alloc(512, 'x'), executable: false },
    { name: 'empty', content: Buffer.alloc(0), executable: false },
  ];
  const directory = mkdtempSync(join(tmpdir(), 'herald-tar-'));
  try {
    const archive = tarball(files);
    expect(archive.equals(tarball(files))).toBe(true);
    writeFileSync(join(directory, 'a.tar.gz'), archive);
    execFileSync('tar', ['-xzf', 'a.tar.gz'], { cwd: directory });
    expect(execFileSync(join(directory, 'program')).toString()).toBe('ran\n');
    expect(statSync(join(directory, 'exactly-one-block')).size).toBe(512);
    expect(statSync(join(directory, 'empty')).mode & 0o777).toBe(0o644);
  } finally {
    rmSync(directory, { recursive: true });
  }
  expect(() => tarball([{ name: 'x'.repeat(101), content: Buffer.alloc(0), executable: false }])).toThrow('too long a name for an archive');
});
