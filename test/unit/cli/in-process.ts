import { addBuiltInProviders } from '../../support/built-in-providers.ts';
import type { Command } from 'commander';
import { awsDefinition } from '../../../providers/aws/tables/definition.ts';
import { BareMetalProvider } from '../../../providers/bare-metal/provider.ts';
import { commandsFor } from '../../../src/cli/command-list.ts';
import type { CommandContext, MakeCommand } from '../../../src/cli/context/command-context.ts';
import { makeProgram, runProgram } from '../../../src/cli/context/program.ts';
import { example } from '../../../src/cli/processes.ts';
import { version } from '../../../src/model/objects/version.ts';
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
    printError: (line) => {
      stderr.push(line);
      changes.printError?.(line);
    },
  };
  return { context, stdout, stderr, status: () => status };
}

/** Runs a command line with the whole program, as main.ts does, but in this process, which is many times faster. */
export async function herald(words: readonly string[], changes: Partial<CommandContext> = {}): Promise<Outcome> {
  const makers = await commandsFor(words);
  return outcomeOf((context) => makeProgram(context, makers, { version, example }), words, changes);
}

/** Runs one command without the program around it. Its words begin after its name. */
export async function inProcess(command: MakeCommand, words: readonly string[], changes: Partial<CommandContext> = {}): Promise<Outcome> {
  const each = (one: Command): Command => {
    for (const inner of one.exitOverride().commands) each(inner);
    return one;
  };
  return outcomeOf((context) => each(command(context)), words, changes);
}

async function outcomeOf(command: MakeCommand, words: readonly string[], changes: Partial<CommandContext>): Promise<Outcome> {
  const { context, stdout, stderr, status } = collecting(changes);
  const collected = (one: Command): Command => {
    one.configureOutput({
      writeErr: (line) => void stderr.push(line.trimEnd()),
      writeOut: (line) => void stdout.push(line.trimEnd()),
    });
    for (const inner of one.commands) collected(inner);
    return one;
  };
  const failed = await runProgram((painting) => collected(command(painting)), context, words);
  return { code: failed ?? status(), stdout: text(stdout), stderr: text(stderr) };
}

function text(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
