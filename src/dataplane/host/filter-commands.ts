import type { FilterRule, HostFilter } from '../../net/host-filter.ts';
import { DataplaneError } from '../dataplane.ts';
import { tableName } from '../ruleset/layout.ts';
import { runCommand, type CommandLine } from '../run-command.ts';
import { readLegacyTable } from './legacy-filters.ts';
import { limits } from './limits.ts';
import { filterChains, rulesOf, type BaseChain } from './nft-filters.ts';

/**
 * The filters of other programs on the hooks forward and input, by the commands nft and, where legacy tables are in use and the
 * tool is there, iptables-legacy. `legacyTables`: names of the tables in use. Rejects with DataplaneError when nft does not answer.
 */
export async function listHostFilters(
  legacyTables: (family: 'ip' | 'ip6') => Promise<readonly string[]>,
  commandPrefix: readonly string[] = [],
): Promise<HostFilter[]> {
  const run = async (...command: string[]): Promise<string | undefined> => {
    const [first = '', ...others] = [...commandPrefix, ...command];
    const line: CommandLine = [first, ...others];
    const outcome = await runCommand(line, '', { timeout: limits.commandTimeout, outputBytes: limits.outputBytes });
    return outcome.status === 0 ? outcome.stdout : undefined;
  };
  const chains = await run('nft', '-j', 'list', 'chains');
  if (chains === undefined) throw new DataplaneError('failed', 'nft does not list the chains');
  const filters: HostFilter[] = [];
  for (const base of filterChains(JSON.parse(chains), tableName)) {
    filters.push({ ...base, chains: await chainsFrom(base, async (...args) => run('nft', '-j', 'list', 'chain', ...args)) });
  }
  for (const [family, tool] of legacy) {
    if (!(await legacyTables(family)).includes('filter')) continue;
    const text = await run(tool, '-t', 'filter', '-S').catch(() => undefined);
    if (text !== undefined) filters.push(...readLegacyTable(text, family));
  }
  return filters;
}

const legacy = [
  ['ip', 'iptables-legacy'],
  ['ip6', 'ip6tables-legacy'],
] as const;

/** The base chain, and what it leads every packet to; a chain that went away meanwhile is missing. */
async function chainsFrom(
  { family, table, chain }: BaseChain,
  list: (family: string, table: string, chain: string) => Promise<string | undefined>,
): Promise<Map<string, readonly FilterRule[]>> {
  const found = new Map<string, readonly FilterRule[]>();
  const names = [chain];
  for (const name of names) {
    if (found.size >= limits.chains) break;
    const json = await list(family, table, name);
    const rules = json === undefined ? [] : rulesOf(JSON.parse(json));
    found.set(name, rules);
    for (const { packets, action } of rules)
      if (packets !== 'some' && 'chain' in action && !names.includes(action.chain)) names.push(action.chain);
  }
  return found;
}
