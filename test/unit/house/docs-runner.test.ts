import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { missingLine } from '../../docs/output.ts';
import { Shell } from '../../docs/shell.ts';
import { stepsOf } from '../../docs/steps.ts';

describe('the output on a page compared with the printed output', () => {
  test.each([
    ['a line among others', 'two', 'one\ntwo\nthree\n'],
    ['lines in this order', 'one\n...\nthree', 'one\ntwo\nthree'],
    ['another number', '198.51.100.10 for 5 s', '203.0.113.7 for 312 s'],
    ['a time in another unit', 'Established for 13 s, 14s ago', 'Established for 2 min, 4m10s ago'],
    ['other widths', 'NAME  READY', 'NAME         READY  '],
    ['an ellipsis', 'AGE ...', 'AGE 3h'],
  ])('%s matches', (_what, shown, printed) => {
    expect(missingLine(shown, printed)).toBeUndefined();
  });

  test.each([
    ['a word that differs', 'Ready: True', 'Ready: False', 'Ready: True'],
    ['part of a line', 'Established', 'Not Established', 'Established'],
    ['the other order', 'three\none', 'one\nthree', 'one'],
    ['a character of regular expressions', 'a.c', 'abc', 'a.c'],
    ['a word in place of a time', 'for 13 s', 'for 13 sheep', 'for 13 s'],
    ['a word in place of a number', '3/3', 'x/3', '3/3'],
  ])('%s does not match', (_what, shown, printed, missing) => {
    expect(missingLine(shown, printed)).toBe(missing);
  });
});

describe('a page as steps', () => {
  const fence = '```';
  const steps = (...lines: readonly string[]): object[] => [...stepsOf('x.md', lines.join('\n'))];

  test('a file, a command with its output, and a command that is not run', () => {
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

  test('text after a sentence is not the output of the command before', () => {
    const page = [`${fence}sh`, 'true', fence, 'On the router:', `${fence}text`, 'show', fence];
    expect(steps(...page)).toEqual([expect.objectContaining({ output: undefined })]);
  });

  test.each(['sh not-run: too slow', 'sh not-run:', 'sh later', 'bash', 'sh exits: x', 'console'])('the fence "%s" is refused', (info) => {
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

  test('variables and the working directory last from block to block', async () => {
    expect(await shell.run("A='two words'; mkdir sub; cd sub")).toEqual({ status: 0, printed: '' });
    expect(await shell.run('echo "$A"; basename "$PWD"')).toEqual({ status: 0, printed: 'two words\nsub\n' });
  });

  test('a file of the page is written into the working directory', async () => {
    shell.writeFile('first', '1');
    await shell.run('mkdir sub; cd sub');
    shell.writeFile('folder/second', '2');
    expect(await shell.run('cat folder/second ../first')).toEqual({ status: 0, printed: '21' });
  });

  test('a failing command or an unset variable ends its block', async () => {
    expect(await shell.run('(exit 3); echo on')).toEqual({ status: 3, printed: '' });
    expect((await shell.run('echo "$NOBODY_SET_THIS"')).status).toBe(2);
  });

  test('Ctrl-C is sent after the expected output, and closing ends background processes', async () => {
    const { status, printed } = await shell.runUntil('echo begun; sleep 600', (text) => text.includes('begun'));
    expect({ status, printed }).toEqual({ status: 130, printed: 'begun\n' });
    const begun = await shell.run('sleep 600 > log & echo $!');
    expect(begun.status).toBe(0);
    await shell.close();
    const { printed: state } = await shell.run(`ps -o stat= -p ${begun.printed.trim()} || echo gone`);
    expect(state).toMatch(/^(gone|Z.*)\n$/);
  });
});
