import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { agentCommand } from '../../../src/cli/agent-command.ts';
import { controllerCommand } from '../../../src/cli/controller-command.ts';
import type { Environment } from '../../../src/cli/environment.ts';
import { explainCommand } from '../../../src/cli/explain-command.ts';
import { importCommand } from '../../../src/cli/import-command.ts';
import { planCommand } from '../../../src/cli/plan-command.ts';
import { runCommand } from '../../../src/cli/run-command.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/command-line.md'), 'utf8');

/** Commands look at their environment only when they run. */
const environment = {} as Environment;
const commands = [controllerCommand, agentCommand, runCommand, explainCommand, planCommand, importCommand].map((command) =>
  command(environment),
);

function optionsOf(command: Command): string[] {
  return [...command.options.map(({ flags }) => flags), ...command.commands.flatMap(optionsOf)];
}

test('docs/reference/command-line.md has every option of every command, and no other', () => {
  const rows = [...page.matchAll(/^\| `(-[^`]*)` \| ([^|]*) \|/gm)].flatMap(([, flags = '', of = '']) =>
    of
      .trim()
      .split(', ')
      .map((command) => `${command} ${flags}`),
  );
  const options = commands.flatMap((command) => optionsOf(command).map((flags) => `${command.name()} ${flags}`));
  expect(rows.toSorted()).toEqual(options.toSorted());
});

test.each(commands.map((command) => [command.name()]))('docs/reference/command-line.md says what herald %s does', (name) => {
  expect(page).toContain(`\n| \`herald ${name}`);
});
