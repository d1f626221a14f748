import { addBuiltInProviders } from '../../support/built-in-providers.ts';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { manualPage } from '../../../scripts/generate/manual-page.ts';
import { commandsFor } from '../../../src/cli/command-list.ts';
import type { CommandContext } from '../../../src/cli/context/command-context.ts';
import { makeProgram } from '../../../src/cli/context/program.ts';

addBuiltInProviders();

const root = join(import.meta.dirname, '../../..');
const page = await manualPage();
/** What a reader sees of the source: escapes replaced. */
const plain = page.replaceAll('\\-', '-').replaceAll('\\(dq', '"').replaceAll('\\&', '').replaceAll('\\e', '\\');

test('docs/herald.1 is what the commands give, and package.json names it', () => {
  expect(readFileSync(join(root, 'docs/herald.1'), 'utf8')).toBe(page);
  const { man } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly man: string };
  expect(man).toBe('docs/herald.1');
});

test('the manual page has every command with every option', async () => {
  const program = makeProgram({} as CommandContext, await commandsFor([]), { version: '', example: '' });
  const sections = new Map(plain.split('\n.SS "').map((text) => [text.slice(0, text.indexOf('"')), text]));
  const visit = (command: Command, path: string): void => {
    const name = `${path} ${command.name()}`;
    if (command.commands.length > 0) return command.commands.forEach((inner) => visit(inner, name));
    const [, section] =
      [...sections].find(([title]) => title === name || title.startsWith(`${name} <`) || title.startsWith(`${name} [`)) ?? [];
    expect(section).toBeDefined();
    for (const { flags } of command.options) expect(section).toContain(`\n.B ${flags}\n`);
  };
  for (const command of program.commands) visit(command, 'herald');
});

test('the manual page has no macro by accident: every line that begins with a dot is one of man(7)', () => {
  const macros = new Set(page.match(/^[.'][^ \n]*/gm));
  expect([...macros].toSorted()).toEqual(['.B', '.BR', '.I', '.PP', '.RI', '.SH', '.SS', '.TH', '.TP', '.\\"', '.fi', '.nf'].toSorted());
});

test('groff formats the manual page without a warning, where it is installed', () => {
  let said: string;
  try {
    said = execFileSync('sh', ['-c', 'groff -man -Tutf8 -ww -z docs/herald.1 2>&1'], { cwd: root, encoding: 'utf8' });
  } catch (error) {
    said = (error as { readonly status: number; readonly stdout: string }).status === 127 ? '' : String(error);
  }
  expect(said).toBe('');
});
