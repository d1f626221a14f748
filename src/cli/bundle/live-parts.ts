import type { LiveIndex } from '../../live/contract.ts';
import { livePaths } from '../../live/contract.ts';
import { limits } from '../limits.ts';
import { askAll, type LiveSource, type LiveSources } from '../live/live-client.ts';
import type { Bundle } from './bundle.ts';

/** What running processes tell of themselves (src/live/contract.ts): a directory for each, a file for each list. */
export async function addLive(bundle: Bundle, { sources, unasked }: Pick<LiveSources, 'sources' | 'unasked'>): Promise<void> {
  for (const source of sources) {
    const { paths } = (await bundle.part(`what ${source.who} tells of itself`, () => addIndex(bundle, source))) ?? { paths: [] };
    for (const path of paths) await bundle.part(`${path} of ${source.who}`, () => addList(bundle, source, path));
  }
  for (const { who, why } of unasked) bundle.failed(who, new Error(why));
}

async function addIndex(bundle: Bundle, source: LiveSource): Promise<LiveIndex> {
  const index = (await source.ask(livePaths.index, {})) as LiveIndex;
  bundle.json(`${directoryOf(source)}/index.json`, index);
  return index;
}

async function addList(bundle: Bundle, source: LiveSource, path: string): Promise<void> {
  const { items, ...about } = await askAll(source, path, {}, limits.bundleItems);
  // A history begins with its oldest entry, and what led to the report is at its end.
  bundle.list(`${directoryOf(source)}/${path.split('/').at(-1)}.json`, about, items, path === livePaths.history ? 'last' : 'first');
}

/** "live/the-agent-of-node1". */
const directoryOf = ({ who }: LiveSource): string => `live/${who.replaceAll(/[^\w.-]+/g, '-')}`;
