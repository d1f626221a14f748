import { isRecord } from '../../lang/is-record.ts';
import type { KubeClient, Query } from '../client/client.ts';
import { KubeError } from '../error.ts';
import { limits } from '../limits.ts';
import { rawObject, type RawObject } from '../raw-object.ts';

interface Page {
  readonly items: readonly RawObject[];
  /** Version of the whole list. A watch may begin there after the last page. */
  readonly resourceVersion: string;
}

/**
 * Yields a list page by page, as it was at one moment. Without a resourceVersion the API server returns the newest state, so a list never
 * goes back in time, whichever server answers. Throws KubeError; `gone` when the list took so long that it expired.
 */
export async function* listPages(client: Pick<KubeClient, 'get'>, path: string, query: Query, signal: AbortSignal): AsyncGenerator<Page> {
  let token: string | undefined;
  do {
    const list = await client.get(path, { ...query, limit: limits.pageItems, continue: token }, signal);
    const metadata = isRecord(list) && isRecord(list['metadata']) ? list['metadata'] : {};
    const items = isRecord(list) ? (list['items'] ?? []) : undefined;
    const { resourceVersion } = metadata;
    if (!Array.isArray(items) || typeof resourceVersion !== 'string') throw new KubeError('malformed', 'the answer is not a list');
    yield { items: items.map(rawObject), resourceVersion };
    token = typeof metadata['continue'] === 'string' && metadata['continue'] !== '' ? metadata['continue'] : undefined;
  } while (token !== undefined);
}
