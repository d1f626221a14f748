import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { krewManifest } from '../../../scripts/krew-manifest.ts';
import { tarball } from '../../../scripts/tarball.ts';
import { version } from '../../../src/cli/version.ts';

/** A plugin manifest by the rules of https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/ and of its naming guide. */
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly spec: {
    readonly version: string;
    readonly shortDescription: string;
    readonly description: string;
    readonly platforms: readonly {
      readonly selector: { readonly matchExpressions: readonly { key: string; operator: string; values: readonly string[] }[] };
      readonly uri: string;
      readonly sha256: string;
      readonly bin: string;
    }[];
  };
}

const sha256 = 'a'.repeat(64);

test('the manifest follows the rules of krew', () => {
  const { apiVersion, kind, metadata, spec } = krewManifest({ version, uri: 'https://releases.example/k.tar.gz', sha256 }) as Manifest;
  expect({ apiVersion, kind }).toEqual({ apiVersion: 'krew.googlecontainertools.github.com/v1alpha2', kind: 'Plugin' });
  expect(metadata).toEqual({ name: 'herald' });
  expect(spec.version).toMatch(/^v\d+\.\d+\.\d+(-[\w.]+)?$/);
  expect(spec.shortDescription).toMatch(/^[^\n]{1,60}[^\n.]$/);
  for (const line of spec.description.split('\n')) expect(line).toBe(line.trim());
  expect(spec.platforms.length).toBeGreaterThan(0);
  for (const { selector, uri, sha256: digest, bin } of spec.platforms) {
    for (const { key, operator, values } of selector.matchExpressions) {
      expect(['os', 'arch']).toContain(key);
      expect(['In', 'NotIn']).toContain(operator);
      expect(values.length).toBeGreaterThan(0);
    }
    expect(uri).toMatch(/^https:\/\/.*\.(tar\.gz|zip)$/);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(bin).toMatch(/^[^/\\]+$/);
  }
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
