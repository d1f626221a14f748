import { formatAddress, parseAddress } from '../../net/address.ts';
import { DataplaneError } from '../dataplane.ts';
import { maximumOutputBytes } from '../nftables/limits.ts';
import { runCommand, type CommandLine } from '../run-command.ts';
import type { ConntrackCleaner, Flow, FlowProtocol, StaleFlows } from './conntrack-cleaner.ts';

const bounds = { timeout: 30_000, outputBytes: maximumOutputBytes };

/** Lists and deletes flows with conntrack-tools' `conntrack`, one process for each kind of flows. */
export function conntrackCommand(prefix: readonly string[] = []): ConntrackCleaner {
  const conntrack = async (args: readonly string[]): Promise<string> => {
    const [first = 'conntrack', ...others] = [...prefix, 'conntrack', ...args];
    const command: CommandLine = [first, ...others];
    const outcome = await runCommand(command, '', bounds);
    // No flow there is exit status 1 with this text.
    if (outcome.status === 0 || outcome.stderr.includes('0 flow entries')) return outcome.stdout;
    throw new DataplaneError(/permitted/.test(outcome.stderr) ? 'permission' : 'failed', outcome.stderr.trim().slice(0, 500));
  };
  return {
    async delete(flows) {
      await conntrack(deletion(flows));
    },
    async list() {
      const flows: Flow[] = [];
      for (const family of ['ipv4', 'ipv6']) {
        for (const protocol of ['UDP', 'SCTP'] as const) {
          const listing = await conntrack(['-L', '-f', family, '-p', protocol.toLowerCase()]);
          for (const line of listing.split('\n')) {
            const flow = readFlow(protocol, line);
            if (flow !== undefined) flows.push(flow);
          }
        }
      }
      return flows;
    },
  };
}

function deletion({ protocol, destination, port, replySource, replyPort }: StaleFlows): string[] {
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
  return args;
}

/** "udp 17 29 src=a dst=b sport=1 dport=2 [UNREPLIED] src=c dst=a sport=3 dport=1 mark=0 use=1": both directions of a flow. */
export function readFlow(protocol: FlowProtocol, line: string): Flow | undefined {
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
  };
}
