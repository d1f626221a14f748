import { addBuiltInProviders } from '../../support/built-in-providers.ts';
import type { Command } from 'commander';
import { awsDefinition } from '../../../providers/aws/tables/definition.ts';
import { BareMetalProvider } from '../../../providers/bare-metal/provider.ts';
import type { CommandContext } from '../../../src/cli/context/command-context.ts';
import { failureOf } from '../../../src/cli/context/exit-status.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { silentLog } from '../../../src/system/log.ts';
import type { Outcome } from './program.ts';

addBuiltInProviders();

/** A command context without a process, which collects the output. */
export function collecting(changes: Partial<CommandContext> = {}): {
  readonly context: CommandContext;
  readonly stdout: string[];
  readonly stderr: string[];
  readonly status: () => number;
} {
  const stdout: string[] = [];
  const stderr: string[] = [];
  let status = 0;
  const context: CommandContext = {
    clock: systemClock,
    random: () => 0.5,
    log: async () => silentLog,
    print: (line) => void stdout.push(line),
    write: async (octets) => void stdout.push(Buffer.from(octets).toString('latin1')),
    printError: (line) => void stderr.push(line),
    readInput: async () => '',
    setExitStatus: (code) => void (status = code),
    stopped: new AbortController().signal,
    onHurry: () => () => undefined,
    hostname: 'test',
    nodejs: 'v24',
    variables: {},
    providers: async () => [new BareMetalProvider()],
    claims: async ({ options }) => {
      const { holds: _, ...aws } = await awsDefinition.claimant(options);
      return [new BareMetalProvider(), aws];
    },
    ...changes,
  };
  return { context, stdout, stderr, status: () => status };
}

/** Runs a command as main.ts does, but in this process, which is many times faster. */
export async function inProcess(
  command: (context: CommandContext) => Command,
  words: readonly string[],
  changes: Partial<CommandContext> = {},
): Promise<Outcome> {
  const { context, stdout, stderr, status } = collecting(changes);
  const outcome = (code: number): Outcome => ({ code, stdout: text(stdout), stderr: text(stderr) });
  const quiet = (one: Command): Command => {
    one
      .exitOverride()
      .configureOutput({ writeErr: (line) => void stderr.push(line.trimEnd()), writeOut: (line) => void stdout.push(line.trimEnd()) });
    for (const inner of one.commands) quiet(inner);
    return one;
  };
  try {
    await quiet(command(context)).parseAsync(words, { from: 'user' });
    return outcome(status());
  } catch (error) {
    const failure = failureOf(error);
    if (failure === undefined) throw error;
    if (failure.message !== undefined) stderr.push(`herald: ${failure.message}`);
    return outcome(failure.status);
  }
}

function text(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
