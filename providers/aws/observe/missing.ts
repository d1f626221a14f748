import { AwsError } from '../cloud/error.ts';

/** One that is gone makes AWS refuse the whole list: then they are asked for one by one. */
export async function allOrEach<T>(ids: readonly string[], ask: (ids: readonly string[]) => Promise<readonly T[]>): Promise<T[]> {
  if (ids.length === 0) return [];
  try {
    return [...(await ask(ids))];
  } catch (error) {
    if (!(error instanceof AwsError) || error.code !== 'notFound') throw error;
    const found: T[] = [];
    if (ids.length > 1) for (const id of ids) found.push(...(await unlessMissing(() => ask([id]))));
    return found;
  }
}

export async function unlessMissing<T>(ask: () => Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof AwsError && error.code === 'notFound') return [];
    throw error;
  }
}
