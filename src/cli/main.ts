import { hostname } from 'node:os';
import { text } from 'node:stream/consumers';
import { awsDefinition } from '../../providers/aws/tables/definition.ts';
import { defined } from '../lang/defined.ts';
import type { Provider } from '../controller/provider.ts';
import { systemClock } from '../system/clock.ts';
import { silentLog } from '../system/log.ts';
import { systemRandom } from '../system/random.ts';
import { commandAliases, commands, commandsFor } from './command-list.ts';
import type { ClaimingProvider, ShippedProvider } from '../controller/provider-definition.ts';
import { addDefinition } from './context/definitions.ts';
import type { CommandContext, ProviderRequest } from './context/command-context.ts';
import { exitStatus } from './context/exit-status.ts';
import { makeProgram, runProgram } from './context/program.ts';
import { completionRequest } from './commands/completion/scripts.ts';
import { commandsAs } from './context/called-as.ts';
import { calledAs, example, processLog } from './processes.ts';
import { endsAtOnce, stopSignals } from './context/stop-signals.ts';
import { version } from '../model/objects/version.ts';

/** The providers that ship with Herald, beside the pools. */
const shipped: readonly ShippedProvider[] = [awsDefinition];

/** Set by commands that only print: a provider module may hold a connection or a timer open, which would keep Node.js running. */
let endAtOnce = false;

/** The composition root: the only place that knows the process, the real clock and the providers. */
async function main(argv: readonly string[]): Promise<number> {
  let status = 0;
  // The plugin has no processes.
  const terminal = Object.keys(commands()).filter((name) => !processNames.has(name));
  const rewrite = commandsAs(calledAs, [...terminal, ...Object.keys(commandAliases)]);
  const context: CommandContext = {
    clock: systemClock,
    random: systemRandom,
    log: processLog,
    print: (line) => void process.stdout.write(`${rewrite(line)}\n`),
    write: (octets) =>
      new Promise((resolve) => {
        if (process.stdout.write(octets)) resolve();
        else process.stdout.once('drain', resolve);
      }),
    isTerminal: process.stdout.isTTY,
    printError: (line) => void process.stderr.write(`${rewrite(line)}\n`),
    readInput: async () => text(process.stdin),
    setExitStatus: (code) => void (status = code),
    ...stopSignals(
      (signal, heard) => (endsAtOnce(argv.slice(2)) ? undefined : void process.on(signal, heard)),
      () => process.exit(130),
    ),
    hostname: hostname(),
    nodejs: process.version,
    variables: process.env,
    providers: async (needs) => {
      const { BareMetalProvider } = await import('../../providers/bare-metal/provider.ts');
      const own = [new BareMetalProvider(), ...(await shippedProviders(context, needs))];
      return [...own, ...(await otherProviders(context, needs, own))];
    },
    claims: async ({ options, modules = [] }) => {
      const { BareMetalProvider } = await import('../../providers/bare-metal/provider.ts');
      const own: readonly ClaimingProvider[] = [
        new BareMetalProvider(),
        ...(await Promise.all(shipped.map(async (provider) => provider.claimant(options)))),
      ];
      if (modules.length > 0) endAtOnce = true;
      return [...own, ...(await otherProviders(context, { log: silentLog, leader: { mayWrite: () => false }, options, modules }, own))];
    },
  };
  const words = argv.slice(2);
  if (await addModuleDefinitions(words)) endAtOnce ||= !keepsRunning.has(words[0] ?? '');
  if (words[0] === completionRequest) {
    const { answerCompletion } = await import('./commands/completion/answer-completion.ts');
    await answerCompletion(context, words.slice(1), async (first) =>
      makeProgram(context, await commandsFor(first), { version, example, rewrite }),
    );
    endAtOnce = true;
    return 0;
  }
  const makers = await commandsFor(words);
  return (await runProgram((painting) => makeProgram(painting, makers, { version, example, rewrite }), context, words)) ?? status;
}

/** Loads the providers that ship with Herald and that the options enable. */
async function shippedProviders(
  { clock, random, stopped, variables }: CommandContext,
  { log, leader, options = {}, metrics }: ProviderRequest,
): Promise<Provider[]> {
  const common = { clock, random, log, stopped, variables, version, options, leader };
  const loaded = shipped.map(async (provider) => {
    const meter = provider.metrics === undefined ? undefined : metrics?.declare(provider.metrics);
    return provider.load({ ...common, ...defined({ meter }) });
  });
  return (await Promise.all(loaded)).flat();
}

const processNames: ReadonlySet<string> = new Set(['controller', 'agent', 'run']);

/** Commands with `--provider` that do not end by themselves. */
const keepsRunning: ReadonlySet<string> = new Set(['controller', 'run', 'ui']);

/** Adds what the modules bring that the command line names. Returns true when it names any. */
async function addModuleDefinitions(words: readonly string[]): Promise<boolean> {
  if (!words.some((word) => word === '--provider' || word.startsWith('--provider='))) return false;
  const { loadDefinitions, modulesIn } = await import('./context/provider-modules.ts');
  const modules = modulesIn(words);
  for (const definition of await loadDefinitions(modules, (url) => import(url) as Promise<unknown>)) addDefinition(definition);
  return modules.length > 0;
}

/** Loads the providers of the modules that the command line names. */
async function otherProviders(
  { clock, random, stopped, variables }: CommandContext,
  { log, leader, metrics, options = {}, modules = [] }: ProviderRequest,
  own: readonly Pick<Provider, 'name'>[],
): Promise<readonly Provider[]> {
  if (modules.length === 0) return [];
  const { loadProviders } = await import('./context/provider-modules.ts');
  const { serviceMetadata, mayWrite = () => true } = leader;
  const components = { clock, random, log, stopped, variables, options, mayWrite, ...defined({ serviceMetadata }) };
  const taken = own.map(({ name }) => name);
  const load = (url: string) => import(url) as Promise<unknown>;
  return loadProviders(modules, components, [...taken, ...shipped.map(({ name }) => name)], load, metrics);
}

/** Ends when output cannot be written: quietly when its reader has closed it (`herald plan ... | head`), else with one line, as on a full disk. */
function endWithOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`herald: standard output cannot be written: ${error.code ?? error.message}\n`);
    process.exit(exitStatus.error);
  });
  process.stderr.on('error', () => process.exit(exitStatus.error));
}

for (const provider of shipped) addDefinition(provider);
endWithOutput();
async function runMain(): Promise<void> {
  process.exitCode = await main(process.argv);
  if (endAtOnce) process.stdout.write('', () => process.exit());
}

// Without `await` here, because the program in one file (npm run build:kubectl) is CommonJS.
void runMain();
