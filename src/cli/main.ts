import { hostname } from 'node:os';
import { text } from 'node:stream/consumers';
import { Command, CommanderError } from 'commander';
import { pino, stdSerializers } from 'pino';
import type { Provider } from '../controller/provider.ts';
import { KubeError } from '../kube/error.ts';
import { SourceError } from '../sources/source.ts';
import { systemClock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import { systemRandom } from '../system/random.ts';
import { agentCommand } from './agent-command.ts';
import { awsOptionsOf } from './aws-options.ts';
import { controllerCommand } from './controller-command.ts';
import { hint, UsageError, type Environment, type ProviderNeeds } from './environment.ts';
import { explainCommand } from './explain-command.ts';
import { importCommand } from './import-command.ts';
import { planCommand } from './plan-command.ts';
import { runCommand } from './run-command.ts';
import { version } from './version.ts';

/** The composition root: the only place that knows the process, the real clock and which providers there are. */
async function main(argv: readonly string[]): Promise<number> {
  let status = 0;
  const environment: Environment = {
    clock: systemClock,
    random: systemRandom,
    log: makeLog,
    print: (line) => void process.stdout.write(`${line}\n`),
    note: (line) => void process.stderr.write(`${line}\n`),
    readInput: async () => text(process.stdin),
    endWith: (code) => void (status = code),
    stopped: stopSignal(),
    hostname: hostname(),
    variables: process.env,
    providers: async (needs) => {
      const { BareMetalProvider } = await import('../../providers/bare-metal/provider.ts');
      return [new BareMetalProvider(), ...(await awsProviders(environment, needs))];
    },
  };
  const program = new Command('herald')
    .description('Gives Kubernetes Services of type LoadBalancer an address and makes it work.')
    .version(version)
    .exitOverride()
    .showHelpAfterError(hint)
    .addHelpText(
      'after',
      '\nExample:\n  herald run examples/one-host     controller and agent of this host, over a directory of manifests\n',
    );
  for (const command of [controllerCommand, agentCommand, runCommand, explainCommand, planCommand, importCommand]) {
    program.addCommand(command(environment).exitOverride().showHelpAfterError(hint));
  }
  try {
    await program.parseAsync(argv);
    return status;
  } catch (error) {
    // 2 is an answer of `herald plan` and `herald import`: a mistake must not look like that.
    const mistake = argv[2] === 'plan' || argv[2] === 'import' ? 1 : 2;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : mistake;
    if (error instanceof UsageError) return fail(error.message, error.exitCode ?? mistake);
    if (error instanceof SourceError || error instanceof KubeError) return fail(error.message, 1);
    // Stopped before it had begun.
    if (environment.stopped.aborted && error === environment.stopped.reason) return 0;
    throw error;
  }
}

/** The SDK of AWS takes 100 MB and a third of a second: only where it is asked for. */
async function awsProviders({ clock, random, stopped, variables }: Environment, { log, post, aws }: ProviderNeeds): Promise<Provider[]> {
  if (aws?.awsClusterName === undefined) return [];
  const { openAws } = await import('../../providers/aws/sdk/open.ts');
  const { finalizer } = await import('../../providers/aws/service-metadata.ts');
  const metadata = post.serviceMetadata?.(finalizer);
  const { mayWrite } = post;
  const components = { clock, random, log, stopped };
  return [
    openAws(
      { ...components, ...(metadata === undefined ? {} : { metadata }), ...(mayWrite === undefined ? {} : { mayWrite }) },
      { ...awsOptionsOf(aws, aws.awsClusterName, variables), version },
    ),
  ];
}

function fail(message: string, exitCode: number): number {
  process.stderr.write(`herald: ${message}\n`);
  return exitCode;
}

/** Whoever reads an answer may stop before its end: `herald plan ... | head`. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
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

endWithReader();
process.exitCode = await main(process.argv);
