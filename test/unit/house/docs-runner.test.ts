import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { missingLine } from '../../docs/output.ts';
import { Shell } from '../../docs/shell.ts';
import { stepsOf } from '../../docs/steps.ts';

describe('what a page shows, beside what was printed', () => {
  test.each([
    ['a line among others', 'two', 'one\ntwo\nthree\n'],
    ['in this order', 'one\n...\nthree', 'one\ntwo\nthree'],
    ['another number', '198.51.100.10 for 5 s', '203.0.113.7 for 312 s'],
    ['a time in another unit', 'Established for 13 s, 14s ago', 'Established for 2 min, 4m10s ago'],
    ['other widths', 'NAME  READY', 'NAME         READY  '],
    ['anything', 'AGE ...', 'AGE 3h'],
  ])('%s is the same', (_what, shown, printed) => {
    expect(missingLine(shown, printed)).toBeUndefined();
  });

  test.each([
    ['a word that differs', 'Ready: True', 'Ready: False', 'Ready: True'],
    ['part of a line', 'Established', 'Not Established', 'Established'],
    ['the other order', 'three\none', 'one\nthree', 'one'],
    ['a sign of patterns', 'a.c', 'abc', 'a.c'],
    ['a time that is none', 'for 13 s', 'for 13 sheep', 'for 13 s'],
    ['a number that is none', '3/3', 'x/3', '3/3'],
  ])('%s is not', (_what, shown, printed, missing) => {
    expect(missingLine(shown, printed)).toBe(missing);
  });
});

describe('a page as steps', () => {
  const fence = '```';
  const steps = (...lines: readonly string[]): object[] => [...stepsOf('x.md', lines.join('\n'))];

  test('a file, a command with its output, one that cannot run', () => {
    const page = [
      'Write this into `a/b.yaml`:',
      '',
      `${fence}yaml`,
      'a: 1',
      fence,
      `${fence}sh exits: 2`,
      'false',
      fence,
      '',
      `${fence}text`,
      'no',
      fence,
      `   ${fence}sh not-run: kind, with three nodes`,
      '   kind create',
      `   ${fence}`,
    ];
    expect(steps(...page)).toEqual([
      { kind: 'file', where: 'x.md:3', name: 'a/b.yaml', text: 'a: 1\n' },
      expect.objectContaining({ kind: 'shell', where: 'x.md:6', script: 'false', status: 2, output: 'no', eventually: false }),
      { kind: 'not-run', where: 'x.md:13', reason: 'kind' },
    ]);
  });

  test('text that does not follow at once is no output', () => {
    const page = [`${fence}sh`, 'true', fence, 'On the router:', `${fence}text`, 'show', fence];
    expect(steps(...page)).toEqual([expect.objectContaining({ output: undefined })]);
  });

  test.each(['sh not-run: too slow', 'sh not-run:', 'sh later', 'bash', 'sh exits: x', 'console'])('%s is refused', (info) => {
    expect(() => steps(`${fence}${info}`, 'true', fence)).toThrow(`x.md:1: ${fence}${info}: not understood`);
  });
});

describe('the reader’s terminal', () => {
  let directory = '';
  let shell: Shell;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'herald-shell-'));
    shell = new Shell({ directory, variables: {}, entrance: [] });
  });

  afterEach(async () => {
    await shell.close();
    rmSync(directory, { recursive: true });
  });

  test('variables and the directory last from block to block', async () => {
    expect(await shell.run("A='two words'; mkdir sub; cd sub")).toEqual({ status: 0, printed: '' });
    expect(await shell.run('echo "$A"; basename "$PWD"')).toEqual({ status: 0, printed: 'two words\nsub\n' });
  });

  test('a command that fails ends its block, as does a variable that is not set', async () => {
    expect(await shell.run('(exit 3); echo on')).toEqual({ status: 3, printed: '' });
    expect((await shell.run('echo "$NOBODY_SET_THIS"')).status).toBe(2);
  });

  test('Ctrl-C comes when enough is printed, and what is in the background ends with the page', async () => {
    const { status, printed } = await shell.runUntil('echo begun; sleep 600', (text) => text.includes('begun'));
    expect({ status, printed }).toEqual({ status: 130, printed: 'begun\n' });
    const begun = await shell.run('sleep 600 > log & echo $!');
    expect(begun.status).toBe(0);
    await shell.close();
    const { printed: state } = await shell.run(`ps -o stat= -p ${begun.printed.trim()} || echo gone`);
    expect(state).toMatch(/^(gone|Z.*)\n$/);
  });
});
