import { Command } from 'commander';
import type { Environment } from '../environment/environment.ts';
import { addLiveOptions, type LiveOptions } from '../options/live-options.ts';
import type { WorkplaceOptions } from './open-storage.ts';
import {
  addClusterOptions,
  bfdPriorityOption,
  bgpListenOption,
  cleanupHeraldOption,
  cleanupOption,
  healthzOption,
  kernelSettingsOption,
  logFormatOption,
  logLevelOption,
  onStopOption,
  procSysOption,
  sourceOption,
  waitForConfigOption,
  type AgentProcessOptions,
  type LogOptions,
} from '../options/shared-options.ts';
import { addTelemetryOptions, type TelemetryOptions } from '../options/telemetry-options.ts';

interface Options extends LogOptions, TelemetryOptions, LiveOptions, AgentProcessOptions, WorkplaceOptions {
  readonly node: string;
  readonly cleanup?: true;
  readonly cleanupKubeProxy?: true;
}

export function agentCommand(environment: Environment): Command {
  const command = new Command('agent')
    .description('forward and announce on this node')
    .addOption(sourceOption())
    .requiredOption('--node <name>', 'name of the Node object that this machine is')
    .addOption(waitForConfigOption())
    .addOption(bgpListenOption())
    .addOption(healthzOption())
    .addOption(bfdPriorityOption())
    .addOption(kernelSettingsOption())
    .addOption(procSysOption())
    .addOption(onStopOption())
    .addOption(cleanupHeraldOption())
    .addOption(cleanupOption())
    .addOption(logLevelOption())
    .addOption(logFormatOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald agent --node node1 --apiserver https://192.0.2.10:6443     in a pod, with no kube-proxy on the node\n  herald agent --node node1 --source /etc/herald --healthz-bind-address 192.0.2.1:10256\n  herald agent --cleanup-kube-proxy      after kube-proxy was stopped, beside the running agent\n  herald agent --cleanup                 after the agent was stopped for good\n\nNeeds CAP_NET_ADMIN. SIGTERM leaves the rules, so that no connection breaks, and withdraws every\nroute from peers without graceful restart; with --on-stop shutdown from all, after 5 s as their last resort.',
    )
    .action(async (options: Options) => {
      if (options.cleanup === true) return (await import('./cleanup-herald.ts')).cleanupHeraldCommand(environment, options);
      if (options.cleanupKubeProxy === true) return (await import('./cleanup-kube-proxy.ts')).cleanupCommand(environment);
      const { runUntilStopped } = await import('./run-until-stopped.ts');
      const { startAgent } = await import('./start-agent.ts');
      return runUntilStopped(environment, { ...options, command: 'agent' }, async function* (workplace, log, telemetry) {
        yield await startAgent(environment, workplace, options, log, telemetry);
      });
    });
  return addClusterOptions(addLiveOptions(addTelemetryOptions(command, 'agent'), 'agent'));
}
