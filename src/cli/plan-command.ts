import { Command } from 'commander';
import { sessionChange } from '../agent/sessions.ts';
import { isEmptyPlan, planChanges } from '../explain/plan.ts';
import { renderPlan } from '../explain/render-plan.ts';
import { Store } from '../model/store.ts';
import type { Environment } from './environment.ts';
import { outputOption, type OutputOptions } from './options.ts';
import { problemLines, readSource } from './read-source.ts';

interface Options extends OutputOptions {
  readonly file: string;
  readonly source?: string;
}

export function planCommand(environment: Environment): Command {
  return new Command('plan')
    .description('what would change: addresses, sessions, routes and rules (exit status 0: nothing, 2: something, 1: errors)')
    .requiredOption('-f, --file <dir>', 'directory of proposed manifests')
    .option('--source <dir>', 'directory in force, whose records of assigned addresses hold; without it everything is new')
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExample:\n  cp -r /etc/herald /tmp/proposed; edit /tmp/proposed/...; herald plan -f /tmp/proposed --source /etc/herald',
    )
    .action(async ({ file, source, output }: Options) => {
      const current = source === undefined ? new Store() : (await readSource(environment, source)).snapshot;
      // What is broken in the proposal is compared as it is now: so would an edit leave it.
      const { snapshot, problems } = await (source === undefined ? readSource(environment, file) : readSource(environment, source, file));
      const plan = planChanges(current, snapshot, sessionChange);
      const broken = problems.some(({ severity }) => severity === 'error');
      const note = broken ? ['The proposal has errors, listed above: objects with an error are compared as they are now.'] : [];
      const lines = (): string[] => [...problemLines(problems), ...renderPlan(plan), ...note];
      for (const line of output === 'json' ? [JSON.stringify({ ...plan, problems }, undefined, 2)] : lines()) environment.print(line);
      // The meaning of `terraform plan -detailed-exitcode`.
      environment.endWith(broken ? 1 : isEmptyPlan(plan) ? 0 : 2);
    });
}
