import { hostname } from 'node:os';
import { Command, CommanderError } from 'commander';
import { pino, stdSerializers } from 'pino';
import { systemClock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import { systemRandom } from '../system/random.ts';
import { agentCommand } from './agent-command.ts';
import { controllerCommand } from './controller-command.ts';
import { UsageError, type Environment } from './environment.ts';
import { explainCommand } from './explain-command.ts';
import { planCommand } from './plan-command.ts';
import { runCommand } from './run-command.ts';
import { version } from './version.ts';

/** The composition root: the only place that knows the process, the real clock and which providers there are. */
async function main(argv: readonly string[]): Promise<number> {
  const environment: Environment = {
    clock: systemClock,
    random: systemRandom,
    log: makeLog,
    print: (line) => void process.stdout.write(`${line}\n`),
    stopped: stopSignal(),
    hostname: hostname(),
    providers: async () => {
      const { BareMetalProvider } = await import('../../providers/bare-metal/provider.ts');
      return [new BareMetalProvider()];
    },
  };
  const program = new Command('herald')
    .description('Gives Kubernetes Services of type LoadBalancer an address and makes it work.')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(herald --help lists the commands; herald COMMAND --help shows an example)')
    .addHelpText(
      'after',
      '\nExample:\n  herald run examples/one-host     controller and agent of this host, over a directory of manifests\n',
    );
  for (const command of [controllerCommand, agentCommand, runCommand, explainCommand, planCommand]) {
    program.addCommand(command(environment).exitOverride());
  }
  try {
    await program.parseAsync(argv);
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof UsageError) {
      process.stderr.write(`herald: ${error.message}\n`);
      return error.exitCode;
    }
    // Stopped before it had begun.
    if (environment.stopped.aborted && error === environment.stopped.reason) return 0;
    throw error;
  }
}

function makeLog(level: string): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { error: stdSerializers.err } });
}

/** The first signal asks for a graceful stop, the second ends the process at once. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(130);
      controller.abort(signal);
    });
  }
  return controller.signal;
}

process.exitCode = await main(process.argv);
