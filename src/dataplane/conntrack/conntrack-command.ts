import { formatAddress } from '../../net/address.ts';
import { DataplaneError } from '../dataplane.ts';
import { runCommand, type CommandLine } from '../run-command.ts';
import type { ConntrackCleaner } from './conntrack-cleaner.ts';

const bounds = { timeout: 30_000, outputBytes: 16 * 1024 * 1024 };

/** Deletes flows with conntrack-tools' `conntrack -D`, one process for each. */
export function conntrackCommand(prefix: readonly string[] = []): ConntrackCleaner {
  return {
    async delete(flows) {
      const family = flows.replySource.family === 4 ? 'ipv4' : 'ipv6';
      const args = [
        '-D',
        '-f',
        family,
        '-p',
        'udp',
        '--orig-port-dst',
        String(flows.port),
        '--reply-src',
        formatAddress(flows.replySource),
      ];
      if (flows.destination !== undefined) args.push('--orig-dst', formatAddress(flows.destination));
      if (flows.replyPort !== undefined) args.push('--reply-port-src', String(flows.replyPort));
      const [first = 'conntrack', ...others] = [...prefix, 'conntrack', ...args];
      const command: CommandLine = [first, ...others];
      const outcome = await runCommand(command, '', bounds);
      // No flow there is exit status 1 with this text.
      if (outcome.status === 0 || outcome.stderr.includes('0 flow entries')) return;
      throw new DataplaneError(/permitted/.test(outcome.stderr) ? 'permission' : 'failed', outcome.stderr.trim().slice(0, 500));
    },
  };
}
