import { Argument, Command } from 'commander';
import { UsageError, type Environment } from './environment.ts';
import {
  bgpListenOption,
  healthzOption,
  kernelSettingsOption,
  logLevelOption,
  onStopOption,
  type AgentProcessOptions,
  type LogOptions,
} from './options.ts';
import { startAgent } from './start-agent.ts';
import { runUntilStopped } from './run-until-stopped.ts';
import { startController } from './start-controller.ts';

interface Options extends LogOptions, AgentProcessOptions {
  readonly node?: string;
}

export function runCommand(environment: Environment): Command {
  return new Command('run')
    .description('controller and agent of one host in one process, without Kubernetes')
    .addArgument(new Argument('<dir>', 'directory of manifests; records are kept in its folder .herald'))
    .option('--node <name>', 'name of the Node object that this machine is (default: the only one, or the one named as the host)')
    .addOption(bgpListenOption())
    .addOption(healthzOption())
    .addOption(kernelSettingsOption())
    .addOption(onStopOption())
    .addOption(logLevelOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald run /etc/herald\n  herald run /etc/herald --healthz-bind-address none      beside a kube-proxy, whose port it is\n\nNeeds CAP_NET_ADMIN. Edits of the manifests are applied as they are saved.',
    )
    .action((directory: string, { node: wanted, logLevel, ...options }: Options) =>
      runUntilStopped(environment, { source: directory, logLevel }, async function* (workplace, log) {
        const node = wanted ?? ownNode([...workplace.source.snapshot.nodes.keys()], environment.hostname);
        yield await startController(environment, workplace, log);
        yield await startAgent(environment, workplace, { ...options, node }, log);
      }),
    );
}

function ownNode(nodes: readonly string[], hostname: string): string {
  const [only, ...others] = nodes;
  if (only !== undefined && others.length === 0) return only;
  if (nodes.includes(hostname)) return hostname;
  const found = nodes.length === 0 ? 'there is no Node manifest' : `the Node manifests are ${nodes.join(', ')}`;
  throw new UsageError(`which node is this host? ${found}: add one named ${hostname}, or say --node NAME`);
}
