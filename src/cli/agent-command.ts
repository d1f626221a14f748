import { Command } from 'commander';
import { cleanupHeraldCommand } from './cleanup-herald.ts';
import { cleanupCommand } from './cleanup-kube-proxy.ts';
import type { Environment } from './environment.ts';
import type { WorkplaceOptions } from './open-workplace.ts';
import {
  addClusterOptions,
  bgpListenOption,
  cleanupHeraldOption,
  cleanupOption,
  healthzOption,
  kernelSettingsOption,
  logLevelOption,
  onStopOption,
  sourceOption,
  type AgentProcessOptions,
  type LogOptions,
} from './options.ts';
import { runUntilStopped } from './run-until-stopped.ts';
import { startAgent } from './start-agent.ts';

interface Options extends LogOptions, AgentProcessOptions, WorkplaceOptions {
  readonly node: string;
  readonly cleanup?: true;
  readonly cleanupKubeProxy?: true;
}

export function agentCommand(environment: Environment): Command {
  const command = new Command('agent')
    .description('forward and announce on this node')
    .addOption(sourceOption())
    .requiredOption('--node <name>', 'name of the Node object that this machine is')
    .addOption(bgpListenOption())
    .addOption(healthzOption())
    .addOption(kernelSettingsOption())
    .addOption(onStopOption())
    .addOption(cleanupHeraldOption())
    .addOption(cleanupOption())
    .addOption(logLevelOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald agent --node node1 --apiserver https://192.0.2.10:6443     in a pod, with no kube-proxy on the node\n  herald agent --node node1 --source /etc/herald --healthz-bind-address 192.0.2.1:10256\n  herald agent --cleanup-kube-proxy      after kube-proxy was stopped, beside the running agent\n  herald agent --cleanup                 after the agent was stopped for good\n\nNeeds CAP_NET_ADMIN. SIGTERM leaves the rules, so that no connection breaks, and withdraws every\nroute from peers without graceful restart.',
    )
    .action((options: Options) => {
      if (options.cleanup === true) return cleanupHeraldCommand(environment, options);
      if (options.cleanupKubeProxy === true) return cleanupCommand(environment);
      return runUntilStopped(environment, options, async function* (workplace, log) {
        yield await startAgent(environment, workplace, options, log);
      });
    });
  return addClusterOptions(command);
}
