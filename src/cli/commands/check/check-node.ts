import { Command, Option } from 'commander';
import { checkReport } from '../../../explain/check/check-report.ts';
import type { CheckOutcome } from '../../../explain/check/facts.ts';
import { renderCheck } from '../../../explain/check/render-check.ts';
import type { CheckLine } from '../../../live/contract.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { UsageError, type CommandContext } from '../../context/command-context.ts';
import { LiveError } from '../../live/live-client.ts';
import { connectToSocket } from '../../live/socket-client.ts';
import { agentSocket, readSocket } from '../../options/live-options.ts';
import { outputOption, type OutputOptions } from '../../options/shared-options.ts';
import type { CheckBegin } from './check-lines.ts';
import { statusOf } from './outcome-status.ts';
import { checkBySocket } from './socket-check.ts';

interface Options extends OutputOptions {
  readonly service: readonly ServiceKey[];
  readonly socket: string;
}

/** The part of `herald check service` that runs on each node, by `kubectl exec` in a cluster. */
export function checkNodeCommand(context: CommandContext): Command {
  return new Command('node')
    .description(
      'check Services from this node only: its agent opens connections to their endpoints and addresses. herald check service runs this in the pod of each agent',
    )
    .addOption(
      new Option('--service <namespace/name>', 'the Service; may be given several times')
        .argParser((name: string, before: readonly string[] | undefined) => [...(before ?? []), name])
        .makeOptionMandatory(),
    )
    .addOption(new Option('--socket <path>', 'Unix socket of the agent').argParser(readSocket).default(agentSocket))
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald check node --service shop/web\n  kubectl -n herald-system exec herald-agent-x7k2p -- herald check node --service shop/web',
    )
    .action((options: Options) => checkHere(context, options));
}

async function checkHere(context: CommandContext, { service: services, socket, output }: Options): Promise<void> {
  try {
    const { process } = await connectToSocket(socket, context.stopped);
    if (process.node === undefined) throw new UsageError(`the process at ${socket} is no agent of a node`, 1);
    const outcomes: CheckOutcome[] = [];
    for (const service of services) {
      const lines = await checkBySocket(socket, service, context);
      const report = reportOf(service, process.node, lines);
      outcomes.push(report.outcome);
      if (output === 'json') printLines(context, { type: 'begin', service, node: process.node }, lines);
      else for (const line of renderCheck(report, () => undefined, false)) context.print(line);
    }
    context.setExitStatus(statusOf(outcomes));
  } catch (error) {
    if (error instanceof LiveError) throw new UsageError(`${error.message} (${error.fix})`, 1);
    throw error;
  }
}

function printLines({ print }: CommandContext, begin: CheckBegin, lines: readonly CheckLine[]): void {
  for (const line of [begin, ...lines]) print(JSON.stringify(line));
}

function reportOf(service: ServiceKey, node: string, lines: readonly CheckLine[]): ReturnType<typeof checkReport> {
  const probes = lines.flatMap((line) => (line.type === 'probe' ? [line] : []));
  const external = new Set(probes.flatMap(({ what, to }) => (what === 'address' ? [to] : [])));
  const hasEndpoints = probes.some(({ what }) => what === 'endpoint');
  return checkReport(
    { service, nodes: [{ node, lines }], expected: [node], external, routers: [], received: [], unchecked: [], hasEndpoints },
    () => undefined,
  );
}
