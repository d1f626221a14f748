import type { KubeClient, Query } from '../client/client.ts';
import { jsonPage } from '../format/json/json-format.ts';
import type { ListPage } from '../format/object-format.ts';
import { limits } from '../limits.ts';
import type { RawObject } from '../raw-object.ts';

/**
 * Yields a list page by page, as it was at one moment. Without a resourceVersion the API server returns the newest state, so a list never
 * goes back in time, whichever server answers. Throws KubeError; `gone` when the list took so long that it expired.
 */
export function listPages(
  client: Pick<KubeClient, 'get'>,
  path: string,
  query: Query,
  signal?: AbortSignal,
): AsyncGenerator<ListPage & { readonly items: readonly RawObject[] }> {
  return pagesBy(async (ofPage) => jsonPage(await client.get(path, ofPage, signal)), query);
}

/** Reads a list, or as many of its pages as have `most` objects. Throws KubeError. */
export async function listAll(
  client: Pick<KubeClient, 'get'>,
  path: string,
  query: Query,
  signal?: AbortSignal,
  most = Infinity,
): Promise<RawObject[]> {
  const all: RawObject[] = [];
  for await (const { items } of listPages(client, path, query, signal)) {
    all.push(...items);
    if (all.length >= most) break;
  }
  return all;
}

/** Does the same as `listPages` with pages that `read` fetches, in any format. */
export async function* pagesBy<Page extends ListPage>(read: (query: Query) => Promise<Page>, query: Query): AsyncGenerator<Page> {
  let token: string | undefined;
  do {
    const page = await read({ ...query, limit: limits.pageItems, continue: token });
    yield page;
    token = page.continue;
  } while (token !== undefined);
}
