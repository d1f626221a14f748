import { Command } from 'commander';
import { untilStopped, type Environment } from './environment.ts';
import { openSource } from './open-source.ts';
import { logLevelOption, sourceOption, type LogOptions } from './options.ts';
import { startAgent } from './start-agent.ts';

interface Options extends LogOptions {
  readonly source: string;
  readonly node: string;
}

export function agentCommand(environment: Environment): Command {
  return new Command('agent')
    .description('forward and announce on this node')
    .addOption(sourceOption().makeOptionMandatory())
    .requiredOption('--node <name>', 'name of the Node object that this machine is')
    .addOption(logLevelOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald agent --node node1 --source /etc/herald\n\nNeeds CAP_NET_ADMIN. SIGTERM withdraws every route and leaves the rules, so that no connection breaks.',
    )
    .action(async ({ source: directory, node, logLevel }: Options) => {
      const log = environment.log(logLevel);
      const source = await openSource(environment, directory, log);
      const agent = await startAgent(environment, source, directory, node, log);
      await untilStopped(environment);
      log.info({ signal: environment.stopped.reason as string }, 'stopping');
      await agent.stop();
      await source.close();
    });
}
