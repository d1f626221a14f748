import { AwsError, unlessFailed } from '../cloud/error.ts';
import { limits } from '../model/limits.ts';

/**
 * Asks for a list of ids and leaves out those that do not exist. AWS refuses a whole list if one id is missing, so the list is then halved,
 * which costs few further requests.
 */
export async function allButMissing<T>(
  ids: readonly string[],
  ask: (ids: readonly string[]) => Promise<readonly T[]>,
  isMissing: (error: AwsError) => boolean = ({ code }) => code === 'notFound',
): Promise<T[]> {
  if (ids.length === 0) return [];
  try {
    return [...(await ask(ids))];
  } catch (error) {
    if (!(error instanceof AwsError) || !isMissing(error)) throw error;
    if (ids.length === 1) return [];
    const middle = Math.ceil(ids.length / 2);
    const first = await allButMissing(ids.slice(0, middle), ask, isMissing);
    return [...first, ...(await allButMissing(ids.slice(middle), ask, isMissing))];
  }
}

/** Uses batches of the size that one request takes. If a resource is missing, only its batch is asked for again. */
export async function inBatches<T>(ids: readonly string[], ask: (ids: readonly string[]) => Promise<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for (let at = 0; at < ids.length; at += limits.tagBatch) all.push(...(await allButMissing(ids.slice(at, at + limits.tagBatch), ask)));
  return all;
}

/**
 * Asks for something that a user has named. Resolves to undefined if it does not exist: AWS refuses an ARN of another region or account as
 * invalid.
 */
export function unlessUnknown<T>(ask: () => Promise<T>): Promise<T | undefined> {
  return unlessFailed(ask, isUnknown);
}

/** True for an id that a user has named and that AWS does not have in this region and account. */
export function isUnknown({ code }: AwsError): boolean {
  return code === 'notFound' || code === 'invalid';
}

export async function unlessMissing<T>(ask: () => Promise<readonly T[]>): Promise<readonly T[]> {
  return (await unlessFailed(ask, ({ code }) => code === 'notFound')) ?? [];
}
