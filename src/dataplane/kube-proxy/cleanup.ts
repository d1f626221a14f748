import { DataplaneError } from '../dataplane.ts';
import { tableName } from '../ruleset/layout.ts';
import { runCommand } from '../run-command.ts';
import { iptablesRemovals } from './iptables-removal.ts';
import { searchIpvs } from './ipvs-leftovers.ts';
import type { Leftover, RunCommand, Search } from './leftover.ts';
import { limits } from './limits.ts';
import { kubeProxyTable } from './nftables-maps.ts';

interface CleanupOptions {
  readonly run: RunCommand;
  /** Names of the legacy iptables tables that are in use. */
  readonly legacyTables: (family: 'ip' | 'ip6') => Promise<readonly string[]>;
}

export interface CleanupReport {
  /** Descriptions of removed objects. */
  readonly removed: readonly string[];
  /** Objects that stay on purpose, with the reason. */
  readonly kept: readonly string[];
  /** Objects that could not be removed, with the reason. */
  readonly left: readonly string[];
}

const families = ['ip', 'ip6'] as const;

/** Returns a function that runs commands on this machine. `commandPrefix` goes before each. */
export function commandRunner(commandPrefix: readonly string[] = []): RunCommand {
  return async (command, input = '') => {
    const [first, ...rest] = [...commandPrefix, ...command];
    try {
      return await runCommand([first ?? '', ...rest], input, { timeout: limits.commandTimeout, outputBytes: limits.outputBytes });
    } catch (error) {
      if (error instanceof DataplaneError && error.code === 'unavailable') return undefined;
      throw error;
    }
  };
}

/** Returns true if Herald's tables contain ClusterIPs: Herald then forwards everything that kube-proxy did. */
export async function forwardsClusterIPs(run: RunCommand): Promise<boolean> {
  for (const family of families) {
    const outcome = await run(['nft', 'list', 'set', family, tableName, 'cluster_ips']);
    if (outcome?.status === 0 && outcome.stdout.includes('elements = {')) return true;
  }
  return false;
}

/** Removes everything that a kube-proxy of any mode leaves behind, and checks that it is gone. */
export async function cleanupKubeProxy(options: CleanupOptions): Promise<CleanupReport> {
  const { found, kept } = await search(options);
  const removed: string[] = [];
  const failed = new Map<string, string>();
  for (const { what, remove, input } of found) {
    const outcome = await options.run(remove, input);
    if (outcome?.status === 0) removed.push(what);
    else failed.set(what, outcome === undefined ? `${remove[0]} is not installed` : outcome.stderr.trim());
  }
  const after = await search(options);
  const left = after.found.map(({ what }) => {
    const why =
      failed.get(what) ?? (removed.includes(what) ? 'it came back: some program creates it again' : 'it appeared during the cleanup');
    return `${what}: ${why}`;
  });
  return { removed, kept, left: [...left, ...after.unknown] };
}

/** Returns the objects in the order of removal: sets after the rules that use them, the link after its virtual servers. */
async function search(options: CleanupOptions): Promise<Search> {
  const { run } = options;
  const searches = [await searchNftables(run), await searchIptables(options), await searchIpvs(run)];
  return {
    found: searches.flatMap(({ found }) => found),
    kept: searches.flatMap(({ kept }) => kept),
    unknown: searches.flatMap(({ unknown }) => unknown),
  };
}

async function searchNftables(run: RunCommand): Promise<Search> {
  const outcome = await run(['nft', 'list', 'tables']);
  if (outcome === undefined) return { found: [], kept: [], unknown: ['nftables: nft is not installed'] };
  const tables = new Set(outcome.stdout.split('\n').map((line) => line.trim()));
  const found = families
    .filter((family) => tables.has(`table ${family} ${kubeProxyTable}`))
    .map((family): Leftover => ({ what: `table ${family} ${kubeProxyTable}`, remove: ['nft', 'delete', 'table', family, kubeProxyTable] }));
  return { found, kept: [], unknown: outcome.status === 0 ? [] : [`nftables: ${outcome.stderr.trim()}`] };
}

async function searchIptables({ run, legacyTables }: CleanupOptions): Promise<Search> {
  const [found, kept, unknown]: [Leftover[], string[], string[]] = [[], [], []];
  for (const family of families) {
    for (const variant of ['nft', 'legacy'] as const) {
      if (variant === 'legacy' && (await legacyTables(family)).length === 0) continue;
      const tool = `${family}tables-${variant}`;
      const outcome = await run([`${tool}-save`]);
      if (outcome === undefined) {
        // A missing iptables-nft-save matters only if kube-proxy's chains exist.
        const isThere = variant === 'legacy' || (await run(['nft', 'list', 'chain', family, 'nat', 'KUBE-MARK-MASQ']))?.status === 0;
        if (isThere) unknown.push(`chains of ${tool}: ${tool}-save is not installed`);
      } else if (outcome.status !== 0) unknown.push(`chains of ${tool}: ${outcome.stderr.trim()}`);
      else {
        for (const { table, script, chains, rules, kept: used } of iptablesRemovals(outcome.stdout)) {
          const what = `${count(chains, 'chain')}, and ${count(rules, 'rule')} leading to them, in table ${table} of ${tool}`;
          if (chains.length > 0) found.push({ what, remove: [`${tool}-restore`, '--noflush'], input: script });
          for (const [chain, user] of used) kept.push(`chain ${chain} in table ${table} of ${tool}: chain ${user} uses it`);
        }
      }
    }
  }
  return { found, kept, unknown };
}

const count = ({ length }: readonly unknown[], what: string): string => `${length} ${what}${length === 1 ? '' : 's'}`;
