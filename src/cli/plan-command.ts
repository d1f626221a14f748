import { Command } from 'commander';
import { sessionChange } from '../agent/sessions.ts';
import { planChanges } from '../explain/plan.ts';
import { renderPlan } from '../explain/render-plan.ts';
import { Store } from '../model/store.ts';
import { problemText } from '../sources/source.ts';
import type { Environment } from './environment.ts';
import { outputOption, type OutputOptions } from './options.ts';
import { readSource } from './read-source.ts';

interface Options extends OutputOptions {
  readonly file: string;
  readonly source?: string;
}

export function planCommand(environment: Environment): Command {
  return new Command('plan')
    .description('what would change: addresses, sessions, routes and rules')
    .requiredOption('-f, --file <dir>', 'directory of proposed manifests')
    .option('--source <dir>', 'directory in force, whose records of assigned addresses hold; without it everything is new')
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExample:\n  cp -r /etc/herald /tmp/proposed; edit /tmp/proposed/...; herald plan -f /tmp/proposed --source /etc/herald',
    )
    .action(async ({ file, source, output }: Options) => {
      const proposed = await readSource(environment, file);
      const current = source === undefined ? new Store() : (await readSource(environment, source)).snapshot;
      const plan = planChanges(current, proposed.snapshot, sessionChange);
      if (output === 'json') {
        environment.print(JSON.stringify({ ...plan, problems: proposed.problems }, undefined, 2));
        return;
      }
      for (const problem of proposed.problems) environment.print(`problem: ${problemText(problem)}`);
      for (const line of renderPlan(plan)) environment.print(line);
    });
}
