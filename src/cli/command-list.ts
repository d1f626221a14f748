import type { MakeCommand } from './context/command-context.ts';
import { definitions } from './context/definitions.ts';
import { commandOf } from './options/provider-command.ts';
import { processCommands } from './processes.ts';

type Commands = Readonly<Record<string, () => Promise<MakeCommand>>>;

/** Each module is loaded only when its command is needed. */
const firstCommands: Commands = {
  ...processCommands,
  status: async () => (await import('./commands/tables/status-command.ts')).statusCommand,
  peers: async () => (await import('./commands/tables/peers-command.ts')).peersCommand,
  routes: async () => (await import('./commands/tables/routes-command.ts')).routesCommand,
  pools: async () => (await import('./commands/tables/pools-command.ts')).poolsCommand,
  endpoints: async () => (await import('./commands/tables/endpoints-command.ts')).endpointsCommand,
  explain: async () => (await import('./commands/explain-command.ts')).explainCommand,
  check: async () => (await import('./commands/check/check-command.ts')).checkCommand,
  ui: async () => (await import('./commands/ui/ui-command.ts')).uiCommand,
  history: async () => (await import('./commands/history-command.ts')).historyCommand,
  plan: async () => (await import('./commands/plan-command.ts')).planCommand,
  drain: async () => (await import('./drain/drain-command.ts')).drainCommand,
  bgp: async () => (await import('./commands/trace/trace-command.ts')).bgpCommand,
  bundle: async () => (await import('./bundle/bundle-command.ts')).bundleCommand,
  version: async () => (await import('./commands/version-command.ts')).versionCommand,
  completion: async () => (await import('./commands/completion/completion-command.ts')).completionCommand,
};

const lastCommands: Commands = {
  import: async () => (await import('./commands/import/import-command.ts')).importCommand,
};

/** Returns the commands of providers. */
function providerCommands(): Commands {
  const all = definitions().flatMap(({ commands = {}, shipped }) =>
    Object.entries(commands).map(([name, load]) => ({ name, load, shipped })),
  );
  return Object.fromEntries(all.map(({ name, load, shipped }) => [name, async () => commandOf(await load(), shipped !== true)]));
}

/** Returns all commands, in the order in which `herald --help` lists them. */
export function commands(): Commands {
  return { ...firstCommands, ...providerCommands(), ...lastCommands };
}

/** Further words for a command. */
export const commandAliases: Readonly<Record<string, string>> = { peer: 'peers', route: 'routes', pool: 'pools', endpoint: 'endpoints' };

/**
 * Loads the command that the first word of a command line names. Loading all commands would take longer than most commands run. When the
 * first word names none, all are loaded for the list of commands and for suggestions. --version needs none.
 */
export async function commandsFor([first = '']: readonly string[]): Promise<MakeCommand[]> {
  if (first === '--version' || first === '-V') return [];
  const name = Object.hasOwn(commandAliases, first) ? (commandAliases[first] ?? first) : first;
  const all = commands();
  const named = Object.hasOwn(all, name) ? all[name] : undefined;
  return Promise.all((named === undefined ? Object.values(all) : [named]).map((load) => load()));
}
