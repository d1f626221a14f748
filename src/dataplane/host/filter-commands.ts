import type { FilterRule, HostFilter } from '../../net/host-filter.ts';
import type { HostNatRule } from '../../net/host-nat.ts';
import { DataplaneError } from '../dataplane.ts';
import { ingressTableName } from '../direct-return/ingress-script.ts';
import { tableName } from '../ruleset/layout.ts';
import { destinationPriority } from '../ruleset/skeleton.ts';
import { runCommand, type CommandOutcome } from '../run-command.ts';
import { iptablesTables, readLegacyTable, readTable, unreadLegacyTable } from './filters/legacy-filters.ts';
import { limits } from './limits.ts';
import { natChains, natRules } from './nft-nats.ts';
import { devicesOf, filterChains, hasExtensions, rulesOf, type BaseChain } from './filters/nft-filters.ts';

/**
 * Lists the filters of other programs on the hooks ingress, prerouting, forward, input and egress, with the nft command and, where legacy tables are in use
 * and iptables-legacy is installed, with that. Tables of iptables in nf_tables whose rules have extensions are read with iptables-nft where
 * that is installed: nft prints extensions without their arguments. `legacyTables` returns the names of the tables in use. Rejects with
 * DataplaneError when nft fails.
 */
export async function listHostFilters(
  legacyTables: (family: 'ip' | 'ip6') => Promise<readonly string[]>,
  commandPrefix: readonly string[] = [],
): Promise<HostFilter[]> {
  const run = commandsWith(commandPrefix);
  const chains = await run('nft', '-j', 'list', 'chains');
  if (chains === undefined) throw new DataplaneError('failed', 'nft could not list the chains');
  const tables = new Map<string, ReturnType<typeof readTable>['chains']>();
  const filters: HostFilter[] = [];
  for (const base of filterChains(JSON.parse(chains), ownTables)) {
    const found = await chainsFrom(base, chainLister(commandPrefix));
    const isOfDevices = base.hook === 'ingress' || base.hook === 'egress';
    const text = isOfDevices ? ((await run('nft', 'list', 'chain', base.family, base.table, base.chain)) ?? '') : '';
    filters.push({
      ...base,
      ...(isOfDevices ? { devices: devicesOf(text) } : {}),
      chains: found.hasExtensions ? await chainsOfIptables(base, tables, run, found.chains) : found.chains,
    });
  }
  for (const family of ['ip', 'ip6'] as const) {
    const inUse = await legacyTables(family);
    for (const table of iptablesTables.filter((name) => inUse.includes(name))) {
      const command = `${iptablesOf(family)}-legacy`;
      const text = await run(command, '-t', table, '-S').catch(() => undefined);
      if (text === undefined) filters.push(...unreadLegacyTable(family, table, `${command} is not installed, or cannot list them`));
      else filters.push(...readLegacyTable(text, family, table));
    }
  }
  return filters;
}

const ownTables: ReadonlySet<string> = new Set([tableName, ingressTableName]);

const iptablesOf = (family: HostFilter['family']): string => (family === 'ip6' ? 'ip6tables' : 'iptables');

/** Returns the rules of a table as iptables-nft writes them; those that nft wrote, if iptables-nft cannot read it. `tables`: what was read. */
async function chainsOfIptables(
  { family, table }: BaseChain,
  tables: Map<string, ReturnType<typeof readTable>['chains']>,
  run: (...command: string[]) => Promise<string | undefined>,
  otherwise: HostFilter['chains'],
): Promise<HostFilter['chains']> {
  if (family !== 'ip' && family !== 'ip6') return otherwise;
  const known = tables.get(`${family} ${table}`);
  if (known !== undefined) return known;
  const text = await run(`${iptablesOf(family)}-nft`, '-t', table, '-S').catch(() => undefined);
  if (text === undefined) return otherwise;
  const { chains } = readTable(text);
  tables.set(`${family} ${table}`, chains);
  return chains;
}

/**
 * Lists the rules of other programs in nf_tables that translate destinations before Herald's do. Legacy iptables tables translate after
 * Herald's. Rejects with DataplaneError when nft fails.
 */
export async function listHostNats(commandPrefix: readonly string[] = []): Promise<HostNatRule[]> {
  const run = commandsWith(commandPrefix);
  const chains = await run('nft', '-j', 'list', 'chains');
  if (chains === undefined) throw new DataplaneError('failed', 'nft could not list the chains');
  const listed = chainLister(commandPrefix);
  const rules: HostNatRule[] = [];
  for (const base of natChains(JSON.parse(chains), tableName, destinationPriority)) {
    const list = async (chain: string): Promise<unknown> => JSON.parse((await listed(base.family, base.table, chain)) ?? '{}');
    rules.push(...(await natRules(base, list, limits.natRules - rules.length)));
  }
  return rules;
}

/** Returns a function that runs a command and returns its output; undefined when it fails. */
function commandsWith(prefix: readonly string[]): (...command: string[]) => Promise<string | undefined> {
  return async (...command) => {
    const outcome = await runWith(prefix, command);
    return outcome.status === 0 ? outcome.stdout : undefined;
  };
}

/**
 * Returns a function that lists one chain with nft as JSON; undefined for a chain that is not there any more. It rejects with DataplaneError
 * when nft fails for another reason: what was not read must not count as empty.
 */
function chainLister(prefix: readonly string[]): (family: string, table: string, chain: string) => Promise<string | undefined> {
  return async (family, table, chain) => {
    const { status, stdout, stderr } = await runWith(prefix, ['nft', '-j', 'list', 'chain', family, table, chain]);
    if (status === 0) return stdout;
    if (stderr.includes('No such file or directory')) return undefined;
    throw new DataplaneError('failed', `nft could not list chain ${chain} of table ${family} ${table}: ${stderr.trim()}`);
  };
}

function runWith(prefix: readonly string[], command: readonly string[]): Promise<CommandOutcome> {
  const [first = '', ...others] = [...prefix, ...command];
  return runCommand([first, ...others], '', { timeout: limits.commandTimeout, outputBytes: limits.outputBytes });
}

/**
 * Returns the rules of the base chain and of the chains to which it sends packets. Those behind a condition that Herald does not understand
 * are left out. A chain that was removed meanwhile counts as empty.
 */
async function chainsFrom(
  { family, table, chain }: BaseChain,
  list: (family: string, table: string, chain: string) => Promise<string | undefined>,
): Promise<{ readonly chains: Map<string, readonly FilterRule[]>; readonly hasExtensions: boolean }> {
  const chains = new Map<string, readonly FilterRule[]>();
  const names = [chain];
  let extended = false;
  for (const name of names) {
    if (chains.size >= limits.chains) break;
    const json: unknown = JSON.parse((await list(family, table, name)) ?? '{}');
    extended ||= hasExtensions(json);
    const rules = rulesOf(json);
    chains.set(name, rules);
    for (const { packets, conditions, action } of rules) {
      const isClear = packets !== 'others' && conditions.every(({ field }) => field !== 'other');
      if (isClear && 'chain' in action && !names.includes(action.chain)) names.push(action.chain);
    }
  }
  return { chains, hasExtensions: extended };
}
