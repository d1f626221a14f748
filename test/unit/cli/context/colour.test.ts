import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { painterFor } from '../../../../src/cli/context/colour.ts';
import { herald } from '../in-process.ts';
import { heraldProcess, root } from '../program.ts';

const on = { isTerminal: true, variables: { TERM: 'xterm' } };
const text = { color: 'auto', output: 'text' } as const;
const paint = painterFor(text, on);
/** Shows colours as {red:...}. */
const shown = (line: string): string =>
  // eslint-disable-next-line no-control-regex
  paint(line).replaceAll(/\u001B\[(\d+)m([^\u001B]*)\u001B\[0m/g, (_, code: string, word: string) => `{${names[code] ?? code}:${word}}`);
const names: Readonly<Record<string, string>> = { 31: 'red', 32: 'green', 33: 'yellow' };

describe('colour', () => {
  test.each([
    ['Not served: pool public is full. Add addresses.', '{red:Not served}: pool public is full. Add addresses.'],
    ['Not fully served: node1 is down.', '{yellow:Not fully served}: node1 is down.'],
    ['Announced, but not by every node: node1 is down.', '{yellow:Announced, but} not by every node: node1 is down.'],
    ['Announced, not checked: 192.0.2.1 via node1; checks are off.', 'Announced, not checked: 192.0.2.1 via node1; checks are off.'],
    ['Served at 192.0.2.1.', '{green:Served} at 192.0.2.1.'],
    ['node1  tor1  64512  Established  3h', 'node1  tor1  64512  {green:Established}  3h'],
    ['node1  tor1  64512  Idle         -', 'node1  tor1  64512  {red:Idle}         -'],
    [
      '  session with tor1 (10.1.0.1, AS 65101): Established for 3 h',
      '  session with tor1 (10.1.0.1, AS 65101): {green:Established} for 3 h',
    ],
    ['  session with tor1 (10.1.0.1, AS 65101): not reported', '  session with tor1 (10.1.0.1, AS 65101): {yellow:not reported}'],
    ['Announced  False   PoolFull  2', 'Announced  {red:False}   PoolFull  2'],
    ['Announced=True Programmed=Unknown', 'Announced={green:True} Programmed={yellow:Unknown}'],
    ['problem: pool.yaml:3: is wrong', '{red:problem:} pool.yaml:3: is wrong'],
    ['  + 192.0.2.1/32 to tor1', '{green:  + }192.0.2.1/32 to tor1'],
    ['  - 192.0.2.1/32 to tor1', '{red:  - }192.0.2.1/32 to tor1'],
    ['  ! tor1: reset (holdTime)', '{yellow:  ! }tor1: reset (holdTime)'],
    ['Ready      no: 0 of 3 sessions', 'Ready      {red:no}: 0 of 3 sessions'],
  ])('paints %j', (line, expected) => {
    expect(shown(line)).toBe(expected);
  });

  test.each(['shop/Idle-web', 'the Service Served', 'no agent reports for node "True"', 'Which nodes are Up', 'https://x/False'])(
    'leaves a word of a sentence or a name as it is: %j',
    (line) => {
      expect(paint(line)).toBe(line);
    },
  );

  const line = 'Not served: x';
  test.each([
    ['a pipe', text, { isTerminal: false, variables: {} }, false],
    ['a terminal', text, on, true],
    ['NO_COLOR', text, { ...on, variables: { NO_COLOR: '1' } }, false],
    ['an empty NO_COLOR', text, { ...on, variables: { NO_COLOR: '' } }, true],
    ['TERM=dumb', text, { ...on, variables: { TERM: 'dumb' } }, false],
    ['--color always in a pipe', { ...text, color: 'always' }, { isTerminal: false, variables: { NO_COLOR: '1' } }, true],
    ['--color never', { ...text, color: 'never' }, on, false],
    ['-o wide', { ...text, output: 'wide' }, on, true],
    ['-o json with --color always', { color: 'always', output: 'json' }, on, false],
    ['-o yaml', { ...text, output: 'yaml' }, on, false],
    ['a command without --color', { output: 'text' }, on, false],
  ] as const)('%s decides whether there is colour', (_, options, where, expected) => {
    expect(painterFor(options, where)(line) !== line).toBe(expected);
  });
});

describe('the program on a terminal and in a pipe', () => {
  const escape = '\u001B[';
  const red = `${escape}31mFalse${escape}0m`;
  const words = ['status', '--source', 'examples/fabric'];
  const onTerminal = async (variables: Readonly<Record<string, string>>, ...more: readonly string[]): Promise<string> =>
    (await herald([...words, ...more], { isTerminal: true, variables: { TERM: 'xterm', ...variables } })).stdout;

  test('a terminal gets colour', async () => {
    expect(await onTerminal({})).toContain(red);
    // A process with a terminal as its standard output (script(1) of util-linux).
    const { NO_COLOR: _, ...others } = process.env;
    const command = [join(root, 'bin/herald'), ...words].join(' ');
    const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'], {
      cwd: root,
      env: { ...others, TERM: 'xterm' },
    });
    expect(stdout).toContain(red);
  });

  test('a terminal gets no colour with NO_COLOR, TERM=dumb, --color never or -o json', async () => {
    for (const stdout of [
      await onTerminal({ NO_COLOR: '1' }),
      await onTerminal({ TERM: 'dumb' }),
      await onTerminal({}, '--color', 'never'),
      await onTerminal({}, '-o', 'json', '--color', 'always'),
    ]) {
      expect(stdout).toContain('False');
      expect(stdout).not.toContain(escape);
    }
  });

  test('a pipe gets colour only with --color always', async () => {
    const { stdout } = await heraldProcess(...words);
    expect(stdout).toContain('False');
    expect(stdout).not.toContain(escape);
    expect((await herald([...words, '--color', 'always'])).stdout).toContain(escape);
  });
});
