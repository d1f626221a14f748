import { Command } from 'commander';
import { cleanupCommand } from './cleanup-kube-proxy.ts';
import type { Environment } from './environment.ts';
import {
  bgpListenOption,
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

interface Options extends LogOptions, AgentProcessOptions {
  readonly source: string;
  readonly node: string;
  readonly cleanupKubeProxy?: true;
}

export function agentCommand(environment: Environment): Command {
  return new Command('agent')
    .description('forward and announce on this node')
    .addOption(sourceOption().makeOptionMandatory())
    .requiredOption('--node <name>', 'name of the Node object that this machine is')
    .addOption(bgpListenOption())
    .addOption(healthzOption())
    .addOption(kernelSettingsOption())
    .addOption(onStopOption())
    .addOption(cleanupOption())
    .addOption(logLevelOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald agent --node node1 --source /etc/herald\n  herald agent --node node1 --source /etc/herald --healthz-bind-address 192.0.2.1:10256\n  herald agent --cleanup-kube-proxy      after kube-proxy was stopped, beside the running agent\n\nNeeds CAP_NET_ADMIN. SIGTERM leaves the rules, so that no connection breaks, and withdraws every\nroute from peers without graceful restart.',
    )
    .action(({ source: directory, logLevel, cleanupKubeProxy, ...options }: Options) => {
      if (cleanupKubeProxy === true) return cleanupCommand(environment);
      return runUntilStopped(environment, { directory, logLevel }, async function* (source, log) {
        yield await startAgent(environment, source, directory, options, log);
      });
    });
}
