import { hostname } from 'node:os';
import { text } from 'node:stream/consumers';
import { defined } from '../lang/defined.ts';
import type { Provider } from '../controller/provider.ts';
import { systemClock } from '../system/clock.ts';
import { silentLog } from '../system/log.ts';
import { systemRandom } from '../system/random.ts';
import { awsOptionsOf } from './options/aws-options.ts';
import { commandsFor } from './command-list.ts';
import type { ClaimingProvider, CommandContext, ProviderRequest } from './context/command-context.ts';
import { makeProgram, runProgram } from './context/program.ts';
import { completionRequest } from './commands/completion/scripts.ts';
import { example, processLog } from './processes.ts';
import { stopSignals } from './context/stop-signals.ts';
import { version } from './version.ts';

/** Set by commands that only print: a provider module may hold a connection or a timer open, which would keep Node.js running. */
let endAtOnce = false;

/** The composition root: the only place that knows the process, the real clock and the providers. */
async function main(argv: readonly string[]): Promise<number> {
  let status = 0;
  const context: CommandContext = {
    clock: systemClock,
    random: systemRandom,
    log: processLog,
    print: (line) => void process.stdout.write(`${line}\n`),
    write: (octets) =>
      new Promise((resolve) => {
        if (process.stdout.write(octets)) resolve();
        else process.stdout.once('drain', resolve);
      }),
    isTerminal: process.stdout.isTTY,
    printError: (line) => void process.stderr.write(`${line}\n`),
    readInput: async () => text(process.stdin),
    setExitStatus: (code) => void (status = code),
    ...stopSignals(
      (signal, heard) => void process.on(signal, heard),
      () => process.exit(130),
    ),
    hostname: hostname(),
    nodejs: process.version,
    variables: process.env,
    providers: async (needs) => {
      const { BareMetalProvider } = await import('../../providers/bare-metal/provider.ts');
      const own = [new BareMetalProvider(), ...(await awsProviders(context, needs))];
      return [...own, ...(await otherProviders(context, needs, own))];
    },
    claims: async ({ awsClassless: classless, modules = [] }) => {
      const { BareMetalProvider } = await import('../../providers/bare-metal/provider.ts');
      const { decideAwsClaim } = await import('../../providers/aws/desire/claim.ts');
      const { hasOurFinalizer } = await import('../../providers/aws/model/service-metadata.ts');
      const own: readonly ClaimingProvider[] = [
        new BareMetalProvider(),
        {
          name: 'aws',
          claim: (service, { config }) => decideAwsClaim(service, config, { classless }),
          holds: (_, service) => service !== undefined && hasOurFinalizer(service),
        },
      ];
      if (modules.length > 0) endAtOnce = true;
      return [...own, ...(await otherProviders(context, { log: silentLog, leader: { mayWrite: () => false }, modules }, own))];
    },
  };
  const words = argv.slice(2);
  if (words[0] === completionRequest) {
    const { answerCompletion } = await import('./commands/completion/answer-completion.ts');
    await answerCompletion(context, words.slice(1), async (first) => makeProgram(context, await commandsFor(first), { version, example }));
    endAtOnce = true;
    return 0;
  }
  const makers = await commandsFor(words);
  return (await runProgram((painting) => makeProgram(painting, makers, { version, example }), context, words)) ?? status;
}

/** Loads the AWS SDK only when it is needed: it takes 35 MB and a quarter of a second. */
async function awsProviders(
  { clock, random, stopped, variables }: CommandContext,
  { log, leader, aws, metrics }: ProviderRequest,
): Promise<Provider[]> {
  if (aws?.awsClusterName === undefined) return leader.serviceMetadata === undefined ? [] : [await switchedOffAws()];
  const { openAws } = await import('../../providers/aws/open.ts');
  const { finalizer } = await import('../../providers/aws/model/service-metadata.ts');
  const { AwsMetrics } = await import('../telemetry/aws.ts');
  const metadata = leader.serviceMetadata?.(finalizer);
  const { mayWrite, leadershipSignal: term, readPod, openPodGate } = leader;
  const pods = readPod === undefined ? undefined : { read: readPod, ...defined({ openGate: openPodGate }) };
  const fence = { ...defined({ mayWrite, term }) };
  const observer = metrics === undefined ? {} : { observer: new AwsMetrics(metrics) };
  const components = { clock, random, log, stopped, ...fence, ...observer };
  return [openAws({ ...components, ...defined({ metadata, pods }) }, { ...awsOptionsOf(aws, aws.awsClusterName, variables), version })];
}

/** Without AWS, Services of a cluster may still have the finalizer of a controller that served AWS. */
async function switchedOffAws(): Promise<Provider> {
  const { SwitchedOffAws } = await import('../../providers/aws/switched-off.ts');
  return new SwitchedOffAws();
}

/** Loads the providers of the modules that the command line names. */
async function otherProviders(
  { clock, random, stopped, variables }: CommandContext,
  { log, leader, modules = [] }: ProviderRequest,
  own: readonly Pick<Provider, 'name'>[],
): Promise<readonly Provider[]> {
  if (modules.length === 0) return [];
  const { loadProviders } = await import('./context/provider-modules.ts');
  const { serviceMetadata, mayWrite = () => true } = leader;
  const components = { clock, random, log, stopped, variables, mayWrite, ...defined({ serviceMetadata }) };
  const taken = own.map(({ name }) => name);
  return loadProviders(modules, components, [...taken, 'aws'], (url) => import(url) as Promise<unknown>);
}

/** Ends quietly when the reader of the output closes it early: `herald plan ... | head`. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
}

endWithReader();
async function runMain(): Promise<void> {
  process.exitCode = await main(process.argv);
  if (endAtOnce) process.stdout.write('', () => process.exit());
}

// Without `await` here, because the program in one file (npm run build:kubectl) is CommonJS.
void runMain();
