import { DataplaneError } from '../dataplane.ts';
import { runCommand, type CommandOutcome } from '../run-command.ts';
import type { IngressTable } from './ingress-set.ts';
import { commandTimeout, maximumOutputBytes } from './limits.ts';

/** Manages the table of mode l2 with the `nft` command, in the network namespace of this process or through a command prefix. */
export function nftIngress(commandPrefix: readonly string[] = []): Omit<IngressTable, 'exists'> {
  const script = async (words: readonly string[], lines: readonly string[]): Promise<void> => {
    const [first, ...others] = [...commandPrefix, 'nft', ...words, '-f', '-'];
    const bounds = { timeout: commandTimeout, outputBytes: maximumOutputBytes };
    const outcome = await runCommand([first, ...others], `${lines.join('\n')}\n`, bounds);
    if (outcome.status !== 0) throw errorOf(outcome);
  };
  return {
    run: (lines) => script([], lines),
    check: (lines) => script(['-c'], lines),
  };
}

/** Uses the first line of the error output, which names the problem. */
function errorOf(outcome: CommandOutcome): DataplaneError {
  const text = (outcome.stderr.trim().split('\n')[0] ?? '').slice(0, 300) || `nft ended with status ${outcome.status}`;
  return new DataplaneError(/Operation not permitted/.test(text) ? 'permission' : 'failed', text);
}
