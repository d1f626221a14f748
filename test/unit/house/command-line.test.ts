import { addBuiltInProviders } from '../../support/built-in-providers.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { commandAliases, commands as commandLoaders, commandsFor } from '../../../src/cli/command-list.ts';
import type { CommandContext } from '../../../src/cli/context/command-context.ts';
import { makeProgram } from '../../../src/cli/context/program.ts';
import { kindWords } from '../../../src/cli/context/object-words.ts';
import { failureKinds } from '../../../src/explain/plan/fail-on.ts';

addBuiltInProviders();

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/command-line.md'), 'utf8');

/** Commands read their environment only when they run. */
const environment = {} as CommandContext;
const { commands } = makeProgram(environment, await commandsFor([]), { version: '', example: '' });

function optionsOf(command: Command): string[] {
  return [...command.options.map(({ flags }) => flags), ...command.commands.flatMap(optionsOf)];
}

test('docs/reference/command-line.md has every option of every command and no other', () => {
  const rows = [...page.matchAll(/^\| `(-[^`]*)` \| ([^|]*) \|/gm)].flatMap(([, flags = '', of = '']) =>
    of
      .trim()
      .split(', ')
      .map((command) => `${command} ${flags}`),
  );
  const options = commands.flatMap((command) => optionsOf(command).map((flags) => `${command.name()} ${flags}`));
  // An option that several subcommands of one command share is one row.
  expect(rows.toSorted()).toEqual([...new Set(options)].toSorted());
});

test('docs/reference/command-line.md has every further word for a command and a kind', () => {
  const rows = Object.entries(kindWords).map(([kind, words]) => `| \`${kind}\` | ${words.map((word) => `\`${word}\``).join(', ')} |`);
  expect(page).toContain(`\n${rows.join('\n')}\n`);
  const tables = Object.entries(commandAliases);
  const [long, short] = [tables.map(([, name]) => name), tables.map(([alias]) => alias)];
  expect(page).toContain(`| \`herald ${long.join('`, `')}\` | \`herald ${short.join('`, `')}\` |`);
});

test('the command list loads a command by its further words', async () => {
  for (const [alias, name] of Object.entries(commandAliases)) {
    const loaded = (await commandsFor([alias])).map((command) => command(environment));
    expect(loaded.map((command) => [command.name(), command.aliases()])).toEqual([[name, [alias]]]);
  }
});

test('docs/reference/command-line.md has every kind of change for --fail-on with its meaning', () => {
  const rows = [...page.matchAll(/^\| `([a-z-]+)` \| (.*) \|$/gm)].map(([, name, means]) => [name, means]);
  expect(rows).toEqual(expect.arrayContaining(Object.entries(failureKinds())));
});

test.each(commands.map((command) => [command.name()]))('docs/reference/command-line.md has herald %s', (name) => {
  expect(page).toContain(`\n| \`herald ${name}`);
});

test("a command line that begins with a command's name loads only that command", async () => {
  for (const name of Object.keys(commandLoaders())) {
    const loaded = await commandsFor([name, '--help']);
    expect(loaded.map((command) => command(environment).name())).toEqual([name]);
  }
  expect(await commandsFor(['--version'])).toEqual([]);
  for (const words of [['--help'], ['statsu'], ['constructor']]) expect(await commandsFor(words)).toHaveLength(commands.length);
});
