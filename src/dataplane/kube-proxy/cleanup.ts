import { DataplaneError } from '../dataplane.ts';
import { tableName } from '../ruleset/layout.ts';
import { runCommand, type CommandLine, type CommandOutcome } from '../run-command.ts';
import { iptablesRemovals } from './iptables-removal.ts';
import { limits } from './limits.ts';
import { kubeProxyTable } from './nftables-maps.ts';

/**
 * Runs a command to its end. Undefined: it is not installed. Rejects with DataplaneError when it could not run to its end for another
 * reason.
 */
export type RunCommand = (command: CommandLine, input?: string) => Promise<CommandOutcome | undefined>;

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

/** An object of kube-proxy, and the command that removes it. */
interface Leftover {
  readonly what: string;
  readonly remove: CommandLine;
  readonly input?: string;
}

interface Search {
  readonly found: readonly Leftover[];
  readonly kept: readonly string[];
  /** Objects that cannot be inspected. */
  readonly unknown: readonly string[];
}

const families = ['ip', 'ip6'] as const;
const link = 'kube-ipvs0';
/** Names of kube-proxy's ipsets, of both families. */
const ipset =
  /^KUBE-(?:6-)?(?:LOOP-BACK|CLUSTER-IP|EXTERNAL-IP(?:-LOCAL)?|LOAD-BALANCER(?:-FW|-LOCAL|-SOURCE-IP|-SOURCE-CIDR)?|NODE-PORT-(?:LOCAL-)?(?:TCP|UDP|SCTP-HASH)|HEALTH-CHECK-NODE-PORT|IPVS-IPS)$/;

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

async function searchIpvs(run: RunCommand): Promise<Search> {
  const names = (await run(['ipset', 'list', '-n']))?.stdout.split('\n') ?? [];
  const sets = names
    .filter((name) => ipset.test(name))
    .map((name): Leftover => ({ what: `ipset ${name}`, remove: ['ipset', 'destroy', name] }));
  const shown = await run(['ip', '-o', 'address', 'show', 'dev', link]);
  if (shown?.status !== 0) return { found: sets, kept: [], unknown: [] };
  const addresses = new Set([...shown.stdout.matchAll(/ inet6? ([0-9a-f.:]+)/g)].map(([, address = '']) => address));
  const rules = await run(['ipvsadm', '--save', '-n']);
  const unknown = rules === undefined ? ['virtual servers of IPVS: ipvsadm is not installed'] : [];
  const servers = [...(rules?.stdout ?? '').matchAll(/^-A (-[tu]|--sctp-service) \[?([0-9a-f.:]+?)\]?:(\d+) /gm)].map(
    ([, kind = '', address = '', port = '']) => ({
      address,
      kind,
      place: address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`,
    }),
  );
  const found = servers
    .filter(({ address }) => addresses.has(address))
    .map(({ kind, place }): Leftover => ({ what: `virtual server ${place}`, remove: ['ipvsadm', '-D', kind, place] }));
  // kube-proxy's virtual servers for NodePorts use addresses of the node, where other programs may have their own.
  const kept = servers
    .filter(({ address }) => !addresses.has(address))
    .map(
      ({ kind, place }) => `virtual server ${place}: its address is not on ${link}; if it was a NodePort, run: ipvsadm -D ${kind} ${place}`,
    );
  return { found: [...sets, ...found, { what: `link ${link}`, remove: ['ip', 'link', 'delete', link] }], kept, unknown };
}
