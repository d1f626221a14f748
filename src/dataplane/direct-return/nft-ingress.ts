import { DataplaneError } from '../dataplane.ts';
import { runCommand, type CommandLine, type CommandOutcome } from '../run-command.ts';
import type { IngressTable } from './ingress-set.ts';
import { ingressTable } from './ingress-script.ts';
import { commandTimeout, maximumOutputBytes } from './limits.ts';

/** Manages the table of mode l2 with the `nft` command, in the network namespace of this process or through a command prefix. */
export function nftIngress(commandPrefix: readonly string[] = []): IngressTable {
  const run = async (words: readonly string[], input = ''): Promise<CommandOutcome> => {
    const [first = '', ...others] = [...commandPrefix, 'nft', ...words];
    const command: CommandLine = [first, ...others];
    return await runCommand(command, input, { timeout: commandTimeout, outputBytes: maximumOutputBytes });
  };
  const script = async (words: readonly string[], lines: readonly string[]): Promise<void> => {
    const outcome = await run([...words, '-f', '-'], `${lines.join('\n')}\n`);
    if (outcome.status !== 0) throw errorOf(outcome);
  };
  return {
    run: (lines) => script([], lines),
    check: (lines) => script(['-c'], lines),
    async exists() {
      // For "list tables", nft would first read every element of every table.
      const outcome = await run(['-t', 'list', 'table', ...ingressTable.split(' ')]);
      if (outcome.status === 0) return true;
      if (/No such file or directory/.test(outcome.stderr)) return false;
      throw errorOf(outcome);
    },
  };
}

/** Uses the first line of the error output, which names the problem. */
function errorOf(outcome: CommandOutcome): DataplaneError {
  const text = (outcome.stderr.trim().split('\n')[0] ?? '').slice(0, 300) || `nft ended with status ${outcome.status}`;
  return new DataplaneError(/Operation not permitted/.test(text) ? 'permission' : 'failed', text);
}
