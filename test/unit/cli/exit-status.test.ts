import { addBuiltInProviders } from '../../support/built-in-providers.ts';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { commandsFor } from '../../../src/cli/command-list.ts';
import { makeProgram } from '../../../src/cli/context/program.ts';
import { collecting, herald } from './in-process.ts';

addBuiltInProviders();

/** The words of every command that does something, as in ["explain", "service"]. */
function leaves(command: Command, words: readonly string[] = []): (readonly string[])[] {
  if (command.commands.length === 0) return [words];
  return command.commands.flatMap((inner) => leaves(inner, [...words, inner.name()]));
}

const commands = leaves(makeProgram(collecting().context, await commandsFor([]), { version: '', example: '' })).map(
  (words) => [words.join(' '), words] as const,
);
const fabric = ['--source', join(import.meta.dirname, '../../../examples/fabric')];

describe('a wrong command line', () => {
  test.each(commands)('herald %s exits with 64 when an option is unknown', async (_, words) => {
    expect(await herald([...words, '--no-such-option'])).toMatchObject({ code: 64, stdout: '' });
  });

  // It takes any number of files.
  const bounded = commands.filter(([name]) => name !== 'import kube-proxy');

  test.each(bounded)('herald %s exits with 64 when there is a word too many', async (_, words) => {
    expect(await herald([...words, 'one', 'two', 'three', 'four'])).toMatchObject({ code: 64, stdout: '' });
  });

  test.each([
    ['run'],
    ['agent'],
    ['explain', 'service'],
    ['explain', 'pool'],
    ['explain', 'peer'],
    ['explain', 'node'],
    ['history', 'service'],
    ['history', 'peer'],
    ['plan'],
    ['drain'],
    ['bgp', 'trace'],
  ])('herald %s %s exits with 64 when something required is missing', async (...words) => {
    expect(await herald(words)).toMatchObject({ code: 64, stdout: '' });
  });

  test.each([
    ['an unknown command', ['statsu']],
    ['an unknown sub-command', ['explain', 'nothing']],
    ['an unknown value', ['status', ...fabric, '-o', 'xml']],
    ['an option without its value', ['peers', '--node']],
    ['options that exclude each other', ['pools', ...fabric, '--context', 'x']],
    [
      'an invalid Node name',
      ['agent', '--node', 'Not_A_Node', ...fabric, '--socket', 'none', '--metrics-address', 'none', '--health-address', 'none'],
    ],
    ['a file as the directory that replaces another', ['plan', '-f', '-', ...fabric]],
  ])('%s exits with 64', async (_, words) => {
    expect(await herald(words)).toMatchObject({ code: 64 });
  });
});

describe('a right command line', () => {
  test.each([
    ['explain service shop/none', ['explain', 'service', 'shop/none', ...fabric]],
    ['explain pool none', ['explain', 'pool', 'none', ...fabric]],
    ['explain peer none', ['explain', 'peer', 'none', ...fabric]],
    ['explain node none', ['explain', 'node', 'none', ...fabric]],
    ['peers --peer none', ['peers', '--peer', 'none', ...fabric]],
    ['peers --node none', ['peers', '--node', 'none', ...fabric]],
    ['routes --service none', ['routes', '--service', 'none', ...fabric]],
    ['pools --pool none', ['pools', '--pool', 'none', ...fabric]],
    ['drain none', ['drain', 'none', ...fabric]],
    ['bgp trace --peer none', ['bgp', 'trace', '--peer', 'none', '--socket', '/no/such/socket']],
    ['a missing directory', ['status', '--source', '/no/such/place']],
    ['a missing directory of plan', ['plan', '-f', '/no/such/place', '--source', 'none']],
    ['a missing file', ['import', 'metallb', '-f', '/no/such/file']],
  ])('%s exits with 1 when the object does not exist', async (_, words) => {
    expect(await herald(words)).toMatchObject({ code: 1, stdout: '' });
  });

  test.each([['--help'], ['plan', '--help'], ['import', 'metallb', '--help']])('herald %s %s exits with 0', async (...words) => {
    expect((await herald(words)).code).toBe(0);
  });
});
