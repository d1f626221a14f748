import { formatAddress, parseAddress } from '../../../src/net/address.ts';
import type { Protocol } from '../../../src/net/frontend.ts';
import { DataplaneError } from '../../../src/dataplane/dataplane.ts';
import { runCommand, type CommandLine, type CommandOutcome } from '../../../src/dataplane/run-command.ts';
import type { ConntrackCleaner, Flow, StaleFlows } from '../../../src/dataplane/conntrack/conntrack-cleaner.ts';
import { commandBounds } from './command-bounds.ts';

/** Lists and deletes flows with `conntrack` of conntrack-tools, one process for each description of stale flows. */
export function conntrackCommand(prefix: readonly string[] = []): ConntrackCleaner {
  const conntrack = async (args: readonly string[]): Promise<CommandOutcome> => {
    const [first = 'conntrack', ...others] = [...prefix, 'conntrack', ...args];
    const command: CommandLine = [first, ...others];
    const outcome = await runCommand(command, '', commandBounds);
    // conntrack exits with status 1 and this text when it finds no flow.
    if (outcome.status === 0 || outcome.stderr.includes('0 flow entries')) return outcome;
    throw new DataplaneError(/permitted|CAP_NET_ADMIN/.test(outcome.stderr) ? 'permission' : 'failed', outcome.stderr.trim().slice(0, 500));
  };
  return {
    async delete(stale) {
      let deleted = 0;
      for (const flows of stale) deleted += countOf(await conntrack(deletion(flows)));
      return deleted;
    },
    async each(see) {
      for (const family of ['ipv4', 'ipv6']) {
        for (const protocol of ['TCP', 'UDP', 'SCTP'] as const) {
          const { stdout } = await conntrack(['-L', '-f', family, '-p', protocol.toLowerCase(), ...(protocol === 'TCP' ? unanswered : [])]);
          for (const line of stdout.split('\n')) {
            const flow = readFlow(protocol, line);
            if (flow !== undefined) see(flow);
          }
        }
      }
    },
    close: () => undefined,
  };
}

/** TCP connections to which nothing has been answered. */
const unanswered = ['--state', 'SYN_SENT'] as const;

/** Reads the count from standard error: "conntrack v1.4.8 (conntrack-tools): 3 flow entries have been deleted." */
function countOf({ stderr }: CommandOutcome): number {
  return Number(/(?<count>\d+) flow entries/.exec(stderr)?.groups?.['count'] ?? 0);
}

function deletion({ protocol, destination, port, replySource, replyPort, unreplied }: StaleFlows): string[] {
  const family = replySource.family === 4 ? 'ipv4' : 'ipv6';
  const args = [
    '-D',
    '-f',
    family,
    '-p',
    protocol.toLowerCase(),
    '--orig-port-dst',
    String(port),
    '--reply-src',
    formatAddress(replySource),
  ];
  if (destination !== undefined) args.push('--orig-dst', formatAddress(destination));
  if (replyPort !== undefined) args.push('--reply-port-src', String(replyPort));
  if (unreplied === true) args.push(...unanswered);
  return args;
}

/**
 * Parses a line with both directions of a flow: "udp 17 29 src=a dst=b sport=1 dport=2 [UNREPLIED] src=c dst=a sport=3 dport=1 mark=0
 * use=1".
 */
export function readFlow(protocol: Protocol, line: string): Flow | undefined {
  const match = /\bdst=(?<to>\S+) sport=\d+ dport=(?<port>\d+) .*?\bsrc=(?<from>\S+) dst=\S+ sport=(?<replyPort>\d+)/.exec(line)?.groups;
  if (match === undefined) return undefined;
  const [destination, replySource] = [parseAddress(match['to'] ?? ''), parseAddress(match['from'] ?? '')];
  if (!destination.ok || !replySource.ok) return undefined;
  return {
    protocol,
    destination: destination.value,
    port: Number(match['port']),
    replySource: replySource.value,
    replyPort: Number(match['replyPort']),
    replied: !line.includes('[UNREPLIED]'),
  };
}
