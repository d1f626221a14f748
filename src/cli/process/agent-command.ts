import { Command } from 'commander';
import type { CommandContext } from '../context/command-context.ts';
import { addLiveOptions, type LiveOptions } from '../options/live-options.ts';
import type { StorageOptions } from './open-storage.ts';
import { addAgentOptions, type AgentProcessOptions } from '../options/agent-options.ts';
import { addClusterOptions, addLogOptions, sourceOption, type LogOptions } from '../options/shared-options.ts';
import { addTelemetryOptions, type TelemetryOptions } from '../options/telemetry-options.ts';

interface Options extends LogOptions, TelemetryOptions, LiveOptions, AgentProcessOptions, StorageOptions {
  readonly node: string;
  readonly cleanup?: true;
  readonly cleanupKubeProxy?: true;
}

export function agentCommand(context: CommandContext): Command {
  const command = new Command('agent')
    .description('forward and announce on this node')
    .addOption(sourceOption())
    .requiredOption('--node <name>', 'name of the Node object of this machine')
    .addHelpText(
      'after',
      '\nExample:\n  herald agent --node node1 --apiserver https://192.0.2.10:6443     in a pod, on a node without kube-proxy\n  herald agent --node node1 --source /etc/herald --healthz-bind-address 192.0.2.1:10256\n  herald agent --cleanup-kube-proxy      after kube-proxy was stopped, while the agent runs\n  herald agent --cleanup                 after the agent was stopped for good\n\nNeeds CAP_NET_ADMIN. SIGTERM keeps the forwarding rules, so that no connection breaks, and withdraws all\nroutes from peers without graceful restart. With --on-stop shutdown it withdraws them from all peers,\nafter they were the last resort for 5 s.',
    )
    .action(async (options: Options) => {
      if (options.cleanup === true) return (await import('./cleanup.ts')).cleanupHerald(context, options);
      if (options.cleanupKubeProxy === true) return (await import('./cleanup.ts')).removeKubeProxyRules(context);
      const { runUntilStopped } = await import('./run-until-stopped.ts');
      const { startAgent } = await import('./start-agent.ts');
      return runUntilStopped(context, { ...options, command: 'agent' }, async function* (storage, log, endpoints) {
        yield await startAgent(context, storage, options, log, endpoints);
      });
    });
  addLogOptions(addAgentOptions(command, 'agent'));
  return addClusterOptions(addLiveOptions(addTelemetryOptions(command, 'agent'), 'agent'));
}
