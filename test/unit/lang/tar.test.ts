import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { tar, type TarEntry } from '../../../src/lang/tar.ts';

const run = (archive: Buffer, ...words: readonly string[]): string =>
  execFileSync('tar', [...words, '-f', '-'], { input: archive, encoding: 'utf8' });
const long = `bundle/explain/${'n'.repeat(63)}/${'s'.repeat(63)}.txt`;
const entries: readonly TarEntry[] = [
  { path: 'bundle/empty.txt', content: new Uint8Array(0), mode: 0o600 },
  { path: 'bundle/block.txt', content: Buffer.from('x'.repeat(512)), mode: 0o644 },
  { path: long, content: Buffer.from('Grüße\n'), mode: 0o755 },
];

test('the system tar reads it: names, times, contents', () => {
  const archive = tar(entries, new Date('2026-01-02T03:04:05Z'));
  expect(run(archive, '-t').trim().split('\n')).toEqual(entries.map(({ path }) => path));
  expect(run(archive, '-x', '-O')).toBe(`${'x'.repeat(512)}Grüße\n`);
  expect(run(archive, '--utc', '--full-time', '-tv')).toContain('2026-01-02 03:04:05');
});

test('the system tar reads directories and symbolic links', () => {
  const folder = `${'d'.repeat(60)}/${'e'.repeat(60)}/`;
  const archive = tar(
    [
      { path: folder, content: new Uint8Array(0), mode: 0o1777 },
      { path: 'bin', content: new Uint8Array(0), mode: 0o777, link: 'usr/bin' },
    ],
    new Date(0),
  );
  const [directory = '', link = ''] = run(archive, '-tv').split('\n');
  expect(directory).toMatch(new RegExp(`^drwxrwxrwt .* ${folder}$`));
  expect(link).toMatch(/^lrwxrwxrwx .* bin -> usr\/bin$/);
});
