import type { MakeCommand } from './context/command-context.ts';
import { processCommands } from './processes.ts';

/** All commands, in the order in which `herald --help` lists them. Each module is loaded only when its command is needed. */
export const commands: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  ...processCommands,
  status: async () => (await import('./commands/tables/status-command.ts')).statusCommand,
  peers: async () => (await import('./commands/tables/peers-command.ts')).peersCommand,
  routes: async () => (await import('./commands/tables/routes-command.ts')).routesCommand,
  pools: async () => (await import('./commands/tables/pools-command.ts')).poolsCommand,
  explain: async () => (await import('./commands/explain-command.ts')).explainCommand,
  ui: async () => (await import('./commands/ui/ui-command.ts')).uiCommand,
  history: async () => (await import('./commands/history-command.ts')).historyCommand,
  plan: async () => (await import('./commands/plan-command.ts')).planCommand,
  drain: async () => (await import('./drain/drain-command.ts')).drainCommand,
  bgp: async () => (await import('./commands/trace/trace-command.ts')).bgpCommand,
  bundle: async () => (await import('./bundle/bundle-command.ts')).bundleCommand,
  completion: async () => (await import('./commands/completion/completion-command.ts')).completionCommand,
  aws: async () => (await import('./aws/aws-command.ts')).awsCommand,
  import: async () => (await import('./commands/import/import-command.ts')).importCommand,
};

/** Further words for a command. */
export const commandAliases: Readonly<Record<string, string>> = { peer: 'peers', route: 'routes', pool: 'pools' };

/**
 * Loads the command that the first word of a command line names. Loading all commands would take longer than most commands run. When the
 * first word names none, all are loaded for the list of commands and for suggestions. --version needs none.
 */
export async function commandsFor([first = '']: readonly string[]): Promise<MakeCommand[]> {
  if (first === '--version' || first === '-V') return [];
  const name = Object.hasOwn(commandAliases, first) ? (commandAliases[first] ?? first) : first;
  const named = Object.hasOwn(commands, name) ? commands[name] : undefined;
  return Promise.all((named === undefined ? Object.values(commands) : [named]).map((load) => load()));
}
