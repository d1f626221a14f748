import { readdir, readFile } from 'node:fs/promises';
import { runCommand, type CommandLine } from '../../dataplane/run-command.ts';
import { httpGet } from '../../system/http/http-get.ts';
import { formatAddress } from '../../net/address.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { limits } from '../limits.ts';
import type { Bundle } from './bundle.ts';
import type { Redaction } from '../reading/redaction.ts';

/** Adds the metrics of the agent of this node, from their default address. */
export async function addLocalMetrics(bundle: Bundle, snapshot: Snapshot | undefined, node: string): Promise<void> {
  const addresses = snapshot?.nodes.get(node)?.internalIPs.map(formatAddress) ?? ['127.0.0.1'];
  for (const address of addresses) {
    const host = address.includes(':') ? `[${address}]` : address;
    const bounds = { milliseconds: limits.bundleAnswerMilliseconds, bytes: limits.bundleFileBytes };
    const text = await httpGet(`http://${host}:${metricsPort}/metrics`, bounds);
    if (text === undefined) continue;
    bundle.addText('host/metrics.txt', text);
    return;
  }
  throw new Error(`no agent answers at port ${metricsPort} of ${addresses.join(', ')}`);
}

const metricsPort = 10_290;

const commands: Readonly<Record<string, CommandLine>> = {
  'uname.txt': ['uname', '-a'],
  'links.txt': ['ip', '-d', '-s', 'link'],
  'addresses.txt': ['ip', 'address'],
  'rules.txt': ['ip', 'rule'],
  'rules-ipv6.txt': ['ip', '-6', 'rule'],
  'routes.txt': ['ip', 'route', 'show', 'table', 'all'],
  'routes-ipv6.txt': ['ip', '-6', 'route', 'show', 'table', 'all'],
  'neighbours.txt': ['ip', 'neighbour'],
  // Never with -i, which shows the key of each session with TCP MD5.
  'tcp-179.txt': ['ss', '-tnoe', '( sport = :179 or dport = :179 )'],
  'conntrack.txt': ['conntrack', '-S'],
};

/** Adds the kernel state of this host that concerns Herald, and the command lines of Herald's processes. */
export async function addHost(bundle: Bundle): Promise<void> {
  for (const [file, command] of Object.entries(commands))
    await bundle.collect(command.join(' '), async () => bundle.addText(`host/${file}`, await outputOf(command)));
  await bundle.collect('nft tables', () => addTables(bundle));
  await bundle.collect('settings of the kernel', async () => bundle.addText('host/settings.txt', await settings()));
  await bundle.collect('processes of Herald', async () => bundle.addText('host/processes.txt', await processes(bundle.redaction)));
}

/** Adds Herald's tables with their rules, and the names of all other tables. */
async function addTables(bundle: Bundle): Promise<void> {
  const all = await outputOf(['nft', 'list', 'tables']);
  bundle.addText('host/nft-tables.txt', all);
  for (const { family, name } of heraldTables(all))
    bundle.addText(`host/nft-${family}-${name}.txt`, await outputOf(['nft', 'list', 'table', family, name]));
}

function heraldTables(list: string): { readonly family: string; readonly name: string }[] {
  return [...list.matchAll(/^table (\w+) (herald\S*)$/gm)].map(([, family = '', name = '']) => ({ family, name }));
}

async function outputOf(command: CommandLine): Promise<string> {
  const { status, stdout, stderr } = await runCommand(command, '', {
    timeout: limits.bundleAnswerMilliseconds,
    outputBytes: limits.bundleFileBytes,
  });
  if (status !== 0) throw new Error(`it ends with ${status}: ${stderr.trim()}`);
  return stdout;
}

/** docs/reference/host.md says which values are needed. */
const settingFiles = [
  'net/ipv4/ip_forward',
  'net/ipv4/fib_multipath_hash_policy',
  'net/ipv6/fib_multipath_hash_policy',
  'net/ipv4/conf/all/rp_filter',
  'net/ipv4/conf/default/rp_filter',
  'net/ipv4/conf/all/route_localnet',
  'net/ipv6/conf/all/forwarding',
  'net/netfilter/nf_conntrack_count',
  'net/netfilter/nf_conntrack_max',
  'net/netfilter/nf_conntrack_tcp_be_liberal',
  'net/netfilter/nf_conntrack_tcp_loose',
  'net/netfilter/nf_conntrack_tcp_timeout_established',
  'net/netfilter/nf_conntrack_tcp_timeout_close_wait',
] as const;

async function settings(): Promise<string> {
  const lines = await Array.fromAsync(settingFiles, async (file) => {
    const value = await readFile(`/proc/sys/${file}`, 'utf8').catch((error: NodeJS.ErrnoException) => `(${error.code})`);
    return `${file.replaceAll('/', '.')} = ${value.trim()}`;
  });
  return lines.join('\n');
}

/** Returns command lines that contain "herald", which show the flags in use. Environment variables are not read. */
async function processes(redaction: Redaction): Promise<string> {
  const lines = await commandLines();
  // Word by word: the word after an option may be a secret.
  return lines.map(({ id, words }) => [id, ...(redaction.object(words) as string[])].join(' ')).join('\n');
}

/** True when this host is a node of Herald although no agent answers at the socket: an agent in a pod has its socket inside the pod. */
export async function isNode(): Promise<boolean> {
  if ((await commandLines()).some(({ words }) => isAgent(words))) return true;
  // A stopped agent has left its rules.
  const tables = await outputOf(['nft', 'list', 'tables']).catch(() => '');
  return heraldTables(tables).length > 0;
}

/** True for "herald agent" and "herald run", but not for the bundle command itself. */
export function isAgent(words: readonly string[]): boolean {
  return words.some((word, index) => isProgram(word) && ['agent', 'run'].includes(words[index + 1] ?? ''));
}

const isProgram = (word: string): boolean => /(?:^|\/)herald(?:\.js)?$|src\/cli\/main\.[jt]s$/.test(word);

async function commandLines(): Promise<{ readonly id: string; readonly words: readonly string[] }[]> {
  const found: { id: string; words: string[] }[] = [];
  for (const id of await readdir('/proc')) {
    if (!/^\d+$/.test(id)) continue;
    // A process that ends meanwhile is skipped.
    const words = (await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')).split('\0').filter((word) => word !== '');
    if (words.some(isProgram)) found.push({ id, words });
  }
  return found;
}
