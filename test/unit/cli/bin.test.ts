import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { root } from './program.ts';

/** A copy of bin/herald whose Node.js prints its arguments. */
const folder = mkdtempSync(join(tmpdir(), 'herald-bin-'));
const node = join(folder, 'node_modules/.bin/node');
cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
writeFileSync(node, '#!/bin/sh\n[ "$1" = -p ] && echo 24 || printf "%s\\n" "$@"\n');
chmodSync(node, 0o755);
afterAll(() => rmSync(folder, { recursive: true }));

function argumentsOfNode(...command: readonly string[]): string[] {
  return execFileSync(join(folder, 'bin/herald'), command, { encoding: 'utf8' }).trimEnd().split('\n');
}

describe('bin/herald', () => {
  test.each(['controller', 'agent', 'run'])('%s runs with a small space for new objects', (name) => {
    const [flag, , ...rest] = argumentsOfNode(name, '--source', 'a directory');
    expect([flag, ...rest]).toEqual(['--max-semi-space-size=4', name, '--source', 'a directory']);
  });

  test.each(['status', 'plan'])('%s runs without options of V8, with its arguments unchanged', (name) => {
    const [main, ...rest] = argumentsOfNode(name, 'an argument', '');
    expect(main).toMatch(/src\/cli\/main\.ts$/);
    expect([...rest, '']).toEqual([name, 'an argument', '']);
  });
});
