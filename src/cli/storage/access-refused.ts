import { KubeError } from '../../kube/error.ts';

/** True when the API server denies this resource or does not have it. The command then shows everything else. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof KubeError && (error.code === 'forbidden' || error.code === 'notFound' || error.code === 'refused');
}

/** Resolves to undefined where the API server denies the resource or does not have it. */
export async function ifAvailable<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}
