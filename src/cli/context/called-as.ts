import type { Command } from 'commander';

/** How the user calls this program. */
export type CalledAs = 'herald' | 'kubectl herald';

/** Returns what rewrites the commands in a text as the user has to type them. `commands`: the first words that this program has. */
export function commandsAs(calledAs: CalledAs, commands: readonly string[]): (text: string) => string {
  if (calledAs === 'herald') return (text) => text;
  const words = [...commands, 'COMMAND', '--help'].join('|');
  const pattern = new RegExp(String.raw`(?<![\w./-]|kubectl )herald (?=(?:${words})(?![\w-]))`, 'g');
  return (text) => text.replaceAll(pattern, `${calledAs} `);
}

/** Rewrites what commander itself writes, such as the help. */
export function rewriteHelp(command: Command, rewrite: (text: string) => string): void {
  const before = command.configureOutput();
  command.configureOutput({ writeOut: (text) => before.writeOut?.(rewrite(text)), writeErr: (text) => before.writeErr?.(rewrite(text)) });
  for (const one of command.commands) rewriteHelp(one, rewrite);
}
