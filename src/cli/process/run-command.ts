import { Argument, Command } from 'commander';
import { UsageError, type CommandContext } from '../context/command-context.ts';
import { addLiveOptions, type LiveOptions } from '../options/live-options.ts';
import { addAgentOptions, type AgentProcessOptions } from '../options/agent-options.ts';
import { addLogOptions, type LogOptions } from '../options/shared-options.ts';
import { providerOption, type ProviderFlag } from '../options/provider-option.ts';
import { addTelemetryOptions, type TelemetryOptions } from '../options/telemetry-options.ts';

interface Options extends LogOptions, TelemetryOptions, LiveOptions, AgentProcessOptions, ProviderFlag {
  readonly node?: string;
}

export function runCommand(context: CommandContext): Command {
  const command = new Command('run')
    .description('run controller and agent of one host in one process, without Kubernetes')
    .addArgument(new Argument('<dir>', 'directory of manifests; records are kept in its folder .herald'))
    .option('--node <name>', "name of the Node object of this machine (default: the only Node, or the one with the host's name)")
    .addOption(providerOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald run /etc/herald\n  herald run /etc/herald --healthz-bind-address none      beside a kube-proxy, which uses the same port\n\nNeeds CAP_NET_ADMIN. Edits of the manifests take effect when they are saved.',
    )
    .action(async (directory: string, { node: wanted, provider = [], ...options }: Options) => {
      const { runUntilStopped } = await import('./run-until-stopped.ts');
      const { startAgent } = await import('./start-agent.ts');
      const { startController } = await import('./start-controller.ts');
      return runUntilStopped(context, { ...options, source: directory, command: 'run' }, async function* (storage, log, endpoints) {
        const node = wanted ?? ownNode([...storage.source.snapshot.nodes.keys()], context.hostname);
        yield await startController(context, storage, log, endpoints, { provider });
        yield await startAgent(context, storage, { ...options, node }, log, endpoints);
      });
    });
  addLogOptions(addAgentOptions(command, 'run'));
  return addLiveOptions(addTelemetryOptions(command, 'agent'), 'agent');
}

function ownNode(nodes: readonly string[], hostname: string): string {
  const [only, ...others] = nodes;
  if (only !== undefined && others.length === 0) return only;
  if (nodes.includes(hostname)) return hostname;
  const found = nodes.length === 0 ? 'there is no Node manifest' : `the Node manifests are ${nodes.join(', ')}`;
  throw new UsageError(`no Node is this host: ${found}. Add a Node named ${hostname}, or use --node NAME`);
}
