import type { MakeCommand } from './context/command-context.ts';
import { processCommands } from './processes.ts';

/** All commands, in the order in which `herald --help` lists them. A module is loaded when it is asked for. */
export const commands: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  ...processCommands,
  status: async () => (await import('./commands/tables/status-command.ts')).statusCommand,
  peers: async () => (await import('./commands/tables/peers-command.ts')).peersCommand,
  routes: async () => (await import('./commands/tables/routes-command.ts')).routesCommand,
  pools: async () => (await import('./commands/tables/pools-command.ts')).poolsCommand,
  explain: async () => (await import('./commands/explain-command.ts')).explainCommand,
  history: async () => (await import('./commands/history-command.ts')).historyCommand,
  plan: async () => (await import('./commands/plan-command.ts')).planCommand,
  drain: async () => (await import('./drain/drain-command.ts')).drainCommand,
  bgp: async () => (await import('./commands/trace/trace-command.ts')).bgpCommand,
  bundle: async () => (await import('./bundle/bundle-command.ts')).bundleCommand,
  import: async () => (await import('./commands/import/import-command.ts')).importCommand,
};

/**
 * The commands that a command line needs: the one that its first word names. To load the others as well takes longer than most answers do.
 * A line that names none gets all of them, for the list of commands or the one that was meant; but to tell a version takes none.
 */
export async function commandsFor([first = '']: readonly string[]): Promise<MakeCommand[]> {
  if (first === '--version' || first === '-V') return [];
  const named = Object.hasOwn(commands, first) ? commands[first] : undefined;
  return Promise.all((named === undefined ? Object.values(commands) : [named]).map((load) => load()));
}
