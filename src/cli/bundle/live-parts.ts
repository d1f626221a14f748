import type { LiveIndex } from '../../live/contract.ts';
import { livePaths } from '../../live/contract.ts';
import { limits } from '../limits.ts';
import { fetchAllPages, type LiveClient, type FoundProcesses } from '../live/live-client.ts';
import type { Bundle } from './bundle.ts';

/** What running processes tell of themselves (src/live/contract.ts): a directory for each, a file for each list. */
export async function addLive(bundle: Bundle, { clients, unasked }: Pick<FoundProcesses, 'clients' | 'unasked'>): Promise<void> {
  for (const client of clients) {
    const { paths } = (await bundle.collect(`what ${client.who} tells of itself`, () => addIndex(bundle, client))) ?? { paths: [] };
    for (const path of paths) await bundle.collect(`${path} of ${client.who}`, () => addList(bundle, client, path));
  }
  for (const { who, why } of unasked) bundle.failed(who, new Error(why));
}

async function addIndex(bundle: Bundle, client: LiveClient): Promise<LiveIndex> {
  const index = (await client.ask(livePaths.index, {})) as LiveIndex;
  bundle.json(`${directoryOf(client)}/index.json`, index);
  return index;
}

async function addList(bundle: Bundle, client: LiveClient, path: string): Promise<void> {
  const { items, ...about } = await fetchAllPages(client, path, {}, limits.bundleItems);
  // A history begins with its oldest entry, and what led to the report is at its end.
  bundle.list(`${directoryOf(client)}/${path.split('/').at(-1)}.json`, about, items, path === livePaths.history ? 'last' : 'first');
}

/** "live/the-agent-of-node1". */
const directoryOf = ({ who }: LiveClient): string => `live/${who.replaceAll(/[^\w.-]+/g, '-')}`;
