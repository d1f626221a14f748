import { DataplaneError } from '../../../src/dataplane/dataplane.ts';
import { CommitOutcomeUnknown, type NftExecutor } from '../../../src/dataplane/nftables/executor.ts';
import { tableFamily, tableName } from '../../../src/dataplane/ruleset/layout.ts';
import { runCommand, type CommandLine, type CommandOutcome } from '../../../src/dataplane/run-command.ts';
import { commandBounds } from './command-bounds.ts';
import { followCommand } from './follow-command.ts';
import { readListing } from './nft-listing.ts';
import { TransactionReader } from './nft-monitor.ts';
import { removalScript, transactionScript } from './nft-script.ts';

/** Bytes of one line of the monitor. The rest of a longer line is ignored; its beginning is sufficient. */
const maximumMonitorLine = 4_096;

/**
 * Drives the kernel through the `nft` command (1.0.1 or later), in the network namespace of this process or through a prefix such as ['ip',
 * 'netns', 'exec', 'node1'].
 */
export function nftCommand(prefix: readonly string[] = []): NftExecutor {
  const commandLine = (...args: string[]): CommandLine => {
    const [first = 'nft', ...others] = [...prefix, 'nft', ...args];
    return [first, ...others];
  };
  const runScript = async (lines: readonly string[]): Promise<void> => {
    const outcome = await runCommand(commandLine('-f', '-'), `${lines.join('\n')}\n`, commandBounds).catch((error: unknown) => {
      // The command was killed, perhaps after the kernel had committed.
      if (error instanceof DataplaneError && error.code === 'failed') throw new CommitOutcomeUnknown(error.message, { cause: error });
      throw error;
    });
    if (outcome.status !== 0) throw errorOf(outcome);
  };
  return {
    run: (transaction) => runScript(transactionScript(transaction)),
    removeTables: () => runScript(removalScript()),
    async readTable(skeleton) {
      const outcome = await runCommand(commandLine('-j', 'list', 'table', tableFamily(skeleton.family), tableName), '', commandBounds);
      if (outcome.status === 0) return readListing(JSON.parse(outcome.stdout) as unknown, skeleton);
      if (/No such file or directory/.test(outcome.stderr) && /list table/.test(outcome.stderr)) return undefined;
      throw errorOf(outcome);
    },
    monitor(events) {
      const transaction = new TransactionReader(events);
      const command = followCommand(commandLine('monitor'), maximumMonitorLine, (line) => transaction.read(line), events.onEnd);
      return { subscribed: false, stop: () => command.stop() };
    },
    close: () => undefined,
  };
}

/** nft has one exit status for every failure, so only its text tells failures apart. No other file reads that text. */
function errorOf(outcome: CommandOutcome): DataplaneError {
  const text = outcome.stderr.trim().split('\n').slice(0, 3).join(' ').slice(0, 500) || `nft ended with status ${outcome.status}`;
  if (/Operation not permitted/.test(text)) return new DataplaneError('permission', text);
  if (/Protocol not supported|Operation not supported by protocol|exec of .* failed/i.test(text))
    return new DataplaneError('unavailable', text);
  return new DataplaneError('failed', text);
}
