import { Argument, Command } from 'commander';
import { untilStopped, UsageError, type Environment } from './environment.ts';
import { openSource } from './open-source.ts';
import { logLevelOption, type LogOptions } from './options.ts';
import { startAgent } from './start-agent.ts';
import { startController } from './start-controller.ts';

interface Options extends LogOptions {
  readonly node?: string;
}

export function runCommand(environment: Environment): Command {
  return new Command('run')
    .description('controller and agent of one host in one process, without Kubernetes')
    .addArgument(new Argument('<dir>', 'directory of manifests; records are kept in its folder .herald'))
    .option('--node <name>', 'name of the Node object that this machine is (default: the only one, or the one named as the host)')
    .addOption(logLevelOption())
    .addHelpText('after', '\nExample:\n  herald run /etc/herald\n\nNeeds CAP_NET_ADMIN. Edits of the manifests are applied as they are saved.')
    .action(async (directory: string, { node, logLevel }: Options) => {
      const log = environment.log(logLevel);
      const source = await openSource(environment, directory, log);
      const name = node ?? ownNode([...source.snapshot.nodes.keys()], environment.hostname);
      const controller = await startController(environment, source, directory, log);
      const agent = await startAgent(environment, source, directory, name, log);
      await untilStopped(environment);
      log.info({ signal: environment.stopped.reason as string }, 'stopping');
      await agent.stop();
      await controller.stop();
      await source.close();
    });
}

function ownNode(nodes: readonly string[], hostname: string): string {
  const [only, ...others] = nodes;
  if (only !== undefined && others.length === 0) return only;
  if (nodes.includes(hostname)) return hostname;
  const found = nodes.length === 0 ? 'there is no Node manifest' : `the Node manifests are ${nodes.join(', ')}`;
  throw new UsageError(`which node is this host? ${found}: add one named ${hostname}, or say --node NAME`);
}
