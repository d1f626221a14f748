import type { Family } from '../../../src/net/address.ts';
import { formatPrefix, parsePrefix, type Prefix } from '../../../src/net/prefix.ts';
import { DataplaneError } from '../../../src/dataplane/dataplane.ts';
import { runCommand, type CommandLine, type CommandOutcome } from '../../../src/dataplane/run-command.ts';
import {
  families,
  familiesOf,
  routeProtocol,
  routingTable,
  rulePreference,
  type UnreachableRouteTable,
} from '../../../src/dataplane/routes/unreachable-routes.ts';
import { commandBounds } from './command-bounds.ts';

/** Errors of the kernel that mean that the desired state already exists. */
const alreadyDone = /No such process|No such file|File exists|FIB table does not exist/;

/** Our rule as `ip -N rule show` prints it. */
const ruleLine = new RegExp(`^${rulePreference}:\\s+not from all iif lo lookup ${routingTable} proto ${routeProtocol}$`);

/** Manages routes with `ip` of iproute2, in the network namespace of this process or through a command prefix. */
export function ipCommand(commandPrefix: readonly string[] = []): UnreachableRouteTable {
  const run = async (args: readonly string[], input: string): Promise<CommandOutcome> => {
    const [first = 'ip', ...others] = [...commandPrefix, 'ip', ...args];
    const command: CommandLine = [first, ...others];
    return await runCommand(command, input, commandBounds);
  };
  const change = async (args: readonly string[], input = ''): Promise<void> => {
    const outcome = await run(args, input);
    const answers = outcome.stderr.split('\n').filter((line) => /^(RTNETLINK|Error)/.test(line));
    const problems = answers.filter((line) => !alreadyDone.test(line));
    if (problems.length > 0 || (outcome.status !== 0 && answers.length === 0)) throw errorOf(outcome);
  };
  /**
   * The rule applies to forwarded packets only: packets of the node itself are routed before they are translated, and must find a route.
   */
  const rule = ['pref', String(rulePreference), 'not', 'iif', 'lo', 'lookup', String(routingTable), 'protocol', String(routeProtocol)];
  const changeRule = (family: Family, verb: 'add' | 'del'): Promise<void> => change([`-${family}`, 'rule', verb, ...rule]);
  const routesOf = async (family: Family): Promise<Prefix[]> => {
    const selector = ['table', String(routingTable), 'type', 'unreachable', 'proto', String(routeProtocol)];
    const outcome = await run(['-N', '-o', `-${family}`, 'route', 'show', ...selector], '');
    if (/FIB table does not exist/.test(outcome.stderr)) return [];
    if (outcome.status !== 0) throw errorOf(outcome);
    return outcome.stdout.split('\n').flatMap((line) => readRoute(line, family === 4 ? 32 : 128) ?? []);
  };
  const hasRule = async (family: Family): Promise<boolean> => {
    const outcome = await run(['-N', `-${family}`, 'rule', 'show', 'pref', String(rulePreference)], '');
    if (outcome.status !== 0) throw errorOf(outcome);
    return outcome.stdout.split('\n').some((line) => ruleLine.test(line.trim()));
  };
  return {
    async list() {
      const prefixes: Prefix[] = [];
      const unruled = new Set<Family>();
      for (const family of families) {
        prefixes.push(...(await routesOf(family)));
        if (!(await hasRule(family))) unruled.add(family);
      }
      return { prefixes, unruled };
    },
    async change(add, remove) {
      const lines = [...add.map((prefix) => routeLine('replace', prefix)), ...remove.map((prefix) => routeLine('del', prefix))];
      if (lines.length === 0) return;
      for (const family of familiesOf(add)) await changeRule(family, 'add');
      // -force: a change that another program has already made must not stop the rest.
      await change(['-force', '-batch', '-'], `${lines.join('\n')}\n`);
      for (const family of familiesOf(remove)) if ((await routesOf(family)).length === 0) await changeRule(family, 'del');
    },
    close: () => undefined,
  };
}

/** ip takes the address family from the prefix. */
function routeLine(verb: 'replace' | 'del', prefix: Prefix): string {
  const route = `unreachable ${formatPrefix(prefix)} table ${routingTable} proto ${routeProtocol}`;
  return `route ${verb} ${route}`;
}

/** Reads the first prefix of a line such as "unreachable 192.0.2.0/24 metric ...". A host route is printed without a length. */
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
