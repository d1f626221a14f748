import { formatPrefix, parsePrefix, type Prefix } from '../../net/prefix.ts';
import { DataplaneError } from '../dataplane.ts';
import { runCommand, type CommandLine, type CommandOutcome } from '../run-command.ts';
import { routeMetric, routeProtocol, type RouteTable } from './unreachable-routes.ts';

const bounds = { timeout: 30_000, outputBytes: 16 * 1024 * 1024 };

/** Routes through iproute2's `ip`, in the network namespace of this process or through a command prefix. */
export function ipCommand(commandPrefix: readonly string[] = []): RouteTable {
  const run = async (args: readonly string[], input: string): Promise<CommandOutcome> => {
    const [first = 'ip', ...others] = [...commandPrefix, 'ip', ...args];
    const command: CommandLine = [first, ...others];
    return await runCommand(command, input, bounds);
  };
  return {
    async list() {
      const found: Prefix[] = [];
      for (const family of ['-4', '-6']) {
        const selector = ['table', 'main', 'type', 'unreachable', 'proto', String(routeProtocol)];
        const outcome = await run(['-N', '-o', family, 'route', 'show', ...selector], '');
        if (outcome.status !== 0) throw errorOf(outcome);
        for (const line of outcome.stdout.split('\n')) {
          const prefix = readRoute(line, family === '-4' ? 32 : 128);
          if (prefix !== undefined) found.push(prefix);
        }
      }
      return found;
    },
    async change(add, remove) {
      const lines = [...add.map((prefix) => routeLine('replace', prefix)), ...remove.map((prefix) => routeLine('del', prefix))];
      if (lines.length === 0) return;
      // -force: a route that somebody else has removed must not keep the others from being changed.
      const outcome = await run(['-force', '-batch', '-'], `${lines.join('\n')}\n`);
      const problems = outcome.stderr.split('\n').filter((line) => line.startsWith('RTNETLINK') && !line.includes('No such process'));
      if (problems.length > 0 || (outcome.status !== 0 && !outcome.stderr.includes('No such process'))) throw errorOf(outcome);
    },
  };
}

/** ip takes the address family from the prefix. */
function routeLine(verb: 'replace' | 'del', prefix: Prefix): string {
  const route = `unreachable ${formatPrefix(prefix)} proto ${routeProtocol} metric ${routeMetric}`;
  return `route ${verb} ${route}`;
}

/** "unreachable 192.0.2.0/24 metric ...": the first prefix of the line; a host route is printed without a length. */
function readRoute(line: string, hostLength: number): Prefix | undefined {
  const words = line.trim().split(/\s+/);
  const text = words.find((word) => /^[0-9a-f]*[.:]/.test(word) || word === 'default');
  if (text === undefined) return undefined;
  const any = hostLength === 32 ? '0.0.0.0/0' : '::/0';
  const prefix = parsePrefix(text === 'default' ? any : text.includes('/') ? text : `${text}/${hostLength}`);
  return prefix.ok ? prefix.value : undefined;
}

function errorOf(outcome: CommandOutcome): DataplaneError {
  const text = outcome.stderr.trim().slice(0, 500);
  return new DataplaneError(
    /Operation not permitted/.test(text) ? 'permission' : 'failed',
    text || `ip ended with status ${outcome.status}`,
  );
}
