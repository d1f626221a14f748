import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../../model/parse/duration.ts';
import { drain } from './drain.ts';
import type { CommandContext } from '../context/command-context.ts';
import { limits } from '../limits.ts';
import type { DrainOptions } from './drain-options.ts';
import { addCallerOptions, outputOption, sourceOption } from '../options/shared-options.ts';

export function drainCommand(context: CommandContext): Command {
  const command = new Command('drain')
    .description(
      'take a node out of the routes without a loss: routers are told first (GRACEFUL_SHUTDOWN, RFC 8326), then routes are withdrawn, then connections end; says how far it is (exit status 0: done, 1: error, 3: refused, as a Service would lose its last next hop, 4: not done in time, and it goes on)',
    )
    .addArgument(new Argument('<node>', 'the Node'))
    .addOption(
      new Option('--force', 'also where no other node announces a Service: it is not reachable then').conflicts(['keepLast', 'uncordon']),
    )
    .addOption(
      new Option('--keep-last', 'routes of Services that no other node announces stay, and nothing waits for them').conflicts('uncordon'),
    )
    .addOption(new Option('--uncordon', 'put the node back, and wait until everything is announced again'))
    .addOption(new Option('--undo', 'the same as --uncordon').implies({ uncordon: true }).conflicts(['force', 'keepLast']))
    .addOption(new Option('--wait <bool>', 'false: ask for it, and end').choices(['true', 'false']).default('true'))
    .addOption(
      new Option(
        '--timeout <duration>',
        'how long to wait: 90s, 10m (default: what settleSeconds and deadlineSeconds of HeraldConfig allow, and a minute)',
      ).argParser(readTimeout),
    )
    .addOption(new Option('--dry-run', 'say what would happen, and write nothing'))
    .addOption(sourceOption())
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald drain node1                        until no connection is left\n  herald drain node1 --dry-run              what it announces, and which Services nobody else does\n  herald drain node1 --keep-last && kubectl drain node1 --ignore-daemonsets && herald drain node1\n  herald drain node1 --uncordon             back, until everything is announced again\n  herald drain node1 --source /etc/herald   says what to write into which manifest, and waits for it',
    )
    .action((node: string, options: DrainOptions) => drain(context, node, options));
  return addCallerOptions(command);
}

function readTimeout(text: string): number {
  const seconds = parseDuration(text);
  if (!seconds.ok) throw new InvalidArgumentError(`${seconds.problem}.`);
  if (seconds.value < 1 || seconds.value > limits.drainTimeoutSeconds) throw new InvalidArgumentError('Write a time from 1s to 24h.');
  return seconds.value;
}
