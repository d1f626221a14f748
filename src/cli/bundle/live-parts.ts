import type { LiveIndex } from '../../live/contract.ts';
import { livePaths } from '../../live/contract.ts';
import { limits } from '../limits.ts';
import { fetchAllPages, type LiveClient, type FoundProcesses } from '../live/live-client.ts';
import type { Bundle } from './bundle.ts';

/** Adds the live API of running processes (src/live/contract.ts): a directory for each process, a file for each list. */
export async function addLive(bundle: Bundle, { clients, unasked }: Pick<FoundProcesses, 'clients' | 'unasked'>): Promise<void> {
  for (const client of clients) {
    const { paths } = (await bundle.collect(`live API of ${client.who}`, () => addIndex(bundle, client))) ?? { paths: [] };
    for (const path of paths) await bundle.collect(`${path} of ${client.who}`, () => addList(bundle, client, path));
  }
  for (const { who, why } of unasked) bundle.recordFailure(who, new Error(why));
}

async function addIndex(bundle: Bundle, client: LiveClient): Promise<LiveIndex> {
  const index = (await client.ask(livePaths.index, {})) as LiveIndex;
  bundle.addJson(`${directoryOf(client)}/index.json`, index);
  return index;
}

async function addList(bundle: Bundle, client: LiveClient, path: string): Promise<void> {
  const { items, ...about } = await fetchAllPages(client, path, {}, limits.bundleItems);
  // A history begins with its oldest entry, and the cause of the bug report is at its end.
  bundle.addList(`${directoryOf(client)}/${path.split('/').at(-1)}.json`, about, items, path === livePaths.history ? 'last' : 'first');
}

/** A name such as "live/the-agent-of-node1". */
const directoryOf = ({ who }: LiveClient): string => `live/${who.replaceAll(/[^\w.-]+/g, '-')}`;
