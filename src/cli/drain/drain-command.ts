import { Argument, Command, Option } from 'commander';
import { drain, type DrainOptions } from './drain.ts';
import type { CommandContext } from '../context/command-context.ts';
import { limits } from '../limits.ts';
import { addCallerOptions, outputOption, readWait, sourceOption } from '../options/shared-options.ts';

export function drainCommand(context: CommandContext): Command {
  const command = new Command('drain')
    .description(
      'drain a node of its routes without loss: mark the routes first (GRACEFUL_SHUTDOWN, RFC 8326), then withdraw them, then wait for connections to end; shows the progress (exit status 0: done, 1: error, 3: refused, because a Service would lose its last next hop, 4: not done in time, the drain goes on)',
    )
    .addArgument(new Argument('<node>', 'the Node'))
    .addOption(
      new Option('--force', 'drain also when no other node announces a Service: that Service is then unreachable').conflicts([
        'keepLast',
        'uncordon',
      ]),
    )
    .addOption(
      new Option('--keep-last', 'keep the routes of Services that no other node announces, and do not wait for them').conflicts('uncordon'),
    )
    .addOption(new Option('--uncordon', 'end the drain, and wait until everything is announced again'))
    .addOption(new Option('--undo', 'the same as --uncordon').implies({ uncordon: true }).conflicts(['force', 'keepLast']))
    .addOption(new Option('--wait <bool>', 'false: request the drain, and end').choices(['true', 'false']).default('true'))
    .addOption(
      new Option(
        '--timeout <duration>',
        'how long to wait: 90s, 10m (default: what settleSeconds and deadlineSeconds of HeraldConfig allow, and a minute)',
      ).argParser((text) => readWait(text, limits.drainTimeoutSeconds)),
    )
    .addOption(new Option('--dry-run', 'show what would happen, and write nothing'))
    .addOption(sourceOption())
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald drain node1                        until no connection is left\n  herald drain node1 --dry-run              what it announces, and which Services only this node announces\n  herald drain node1 --keep-last && kubectl drain node1 --ignore-daemonsets && herald drain node1\n  herald drain node1 --uncordon             end the drain, until everything is announced again\n  herald drain node1 --source /etc/herald   shows what to write into which manifest, and waits for it',
    )
    .action((node: string, options: DrainOptions) => drain(context, node, options));
  return addCallerOptions(command);
}
