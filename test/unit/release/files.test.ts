import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, linkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readTar } from '../../../scripts/release/files/read-tar.ts';
import { contentOf, directory, file, link, merge, tarOf, type Tree } from '../../../scripts/release/files/tree.ts';

const folder = mkdtempSync(join(tmpdir(), 'herald-release-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a tree as an archive', () => {
  const entries: [string, Tree extends Map<string, infer N> ? N : never][] = [
    ['usr/bin/tool', file('#!/bin/sh\n', 0o755)],
    ['usr/bin-other', file('x')],
    ['tmp', directory(0o1777)],
    ['bin', link('usr/bin')],
  ];

  test('the same tree gives the same octets in any order, with parents before their content', () => {
    const archive = tarOf(new Map(entries), new Date(1000));
    expect(tarOf(new Map(entries.toReversed()), new Date(1000)).equals(archive)).toBe(true);
    const listed = execFileSync('tar', ['-t', '-f', '-'], { input: archive, encoding: 'utf8' }).trim().split('\n');
    expect(listed).toEqual(['bin', 'tmp/', 'usr/', 'usr/bin/', 'usr/bin-other', 'usr/bin/tool']);
  });

  test('a file below a link is refused', () => {
    expect(() => tarOf(new Map([...entries, ['bin/sh', file('')]]), new Date(0))).toThrow('bin/sh is below bin, which is no directory');
  });

  test('two trees with different content at one path are refused, and with the same are merged', () => {
    const tree: Tree = new Map(entries);
    merge(tree, new Map([['bin/tool', file('#!/bin/sh\n', 0o755)]]), 'usr');
    expect(() => merge(tree, new Map([['usr/bin/tool', file('other')]]))).toThrow('usr/bin/tool is there twice');
  });
});

describe('an archive of another program', () => {
  const long = `${'d'.repeat(90)}/${'e'.repeat(90)}/${'f'.repeat(90)}`;

  test.each(['gnu', 'pax', 'ustar'])('long names, links and modes are read from the format %s', (format) => {
    const root = join(folder, format);
    mkdirSync(join(root, long), { recursive: true });
    writeFileSync(join(root, 'program'), 'content', { mode: 0o755 });
    linkSync(join(root, 'program'), join(root, 'same'));
    symlinkSync('program', join(root, 'symbolic'));
    const deep = format === 'ustar' ? 'one' : `${long}/one`;
    if (format === 'ustar') rmSync(join(root, 'd'.repeat(90)), { recursive: true });
    writeFileSync(join(root, deep), 'deep');
    const archive = execFileSync('tar', [`--format=${format}`, '--sort=name', '-c', '-C', root, '.'], { maxBuffer: 2 ** 26 });
    const tree = readTar(archive);
    expect(tree.get('program')).toEqual({ kind: 'file', mode: 0o755, content: Buffer.from('content') });
    expect(tree.get('symbolic')).toEqual(link('program'));
    expect(contentOf(tree, 'same').toString()).toBe('content');
    expect(contentOf(tree, deep).toString()).toBe('deep');
  });

  test('a path that leads out of the archive is refused', () => {
    const archive = tarOf(new Map([['../etc/passwd', file('x')]]), new Date(0));
    expect(() => readTar(archive)).toThrow('leads out of the archive');
  });

  test('a tree is the same after it was written and read', () => {
    const tree: Tree = new Map([
      ['usr', directory()],
      ['usr/a', file(readFileSync(import.meta.filename))],
      ['usr/b', link('a')],
    ]);
    expect(readTar(tarOf(tree, new Date(0)))).toEqual(tree);
  });
});
