import type { FilterRule, HostFilter } from '../../net/host-filter.ts';
import type { HostNatRule } from '../../net/host-nat.ts';
import { DataplaneError } from '../dataplane.ts';
import { tableName } from '../ruleset/layout.ts';
import { destinationPriority } from '../ruleset/skeleton.ts';
import { runCommand } from '../run-command.ts';
import { readLegacyTable } from './legacy-filters.ts';
import { limits } from './limits.ts';
import { natChains, natRules } from './nft-nats.ts';
import { filterChains, rulesOf, type BaseChain } from './nft-filters.ts';

/**
 * Lists the filters of other programs on the hooks forward and input, with the nft command and, where legacy tables are in use and
 * iptables-legacy is installed, with that. `legacyTables` returns the names of the tables in use. Rejects with DataplaneError when nft
 * fails.
 */
export async function listHostFilters(
  legacyTables: (family: 'ip' | 'ip6') => Promise<readonly string[]>,
  commandPrefix: readonly string[] = [],
): Promise<HostFilter[]> {
  const run = commandsWith(commandPrefix);
  const chains = await run('nft', '-j', 'list', 'chains');
  if (chains === undefined) throw new DataplaneError('failed', 'nft could not list the chains');
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

/**
 * Lists the rules of other programs in nf_tables that translate destinations before Herald's do. Legacy iptables tables translate after
 * Herald's. Rejects with DataplaneError when nft fails.
 */
export async function listHostNats(commandPrefix: readonly string[] = []): Promise<HostNatRule[]> {
  const run = commandsWith(commandPrefix);
  const chains = await run('nft', '-j', 'list', 'chains');
  if (chains === undefined) throw new DataplaneError('failed', 'nft could not list the chains');
  const rules: HostNatRule[] = [];
  for (const base of natChains(JSON.parse(chains), tableName, destinationPriority)) {
    const list = async (chain: string): Promise<unknown> =>
      JSON.parse((await run('nft', '-j', 'list', 'chain', base.family, base.table, chain)) ?? '{}');
    rules.push(...(await natRules(base, list, limits.natRules - rules.length)));
  }
  return rules;
}

/** Returns a function that runs a command and returns its output; undefined when it fails. */
function commandsWith(prefix: readonly string[]): (...command: string[]) => Promise<string | undefined> {
  return async (...command) => {
    const [first = '', ...others] = [...prefix, ...command];
    const outcome = await runCommand([first, ...others], '', { timeout: limits.commandTimeout, outputBytes: limits.outputBytes });
    return outcome.status === 0 ? outcome.stdout : undefined;
  };
}

const legacy = [
  ['ip', 'iptables-legacy'],
  ['ip6', 'ip6tables-legacy'],
] as const;

/**
 * Returns the rules of the base chain and of all chains to which it sends every packet. A chain that was removed meanwhile counts as empty.
 */
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
