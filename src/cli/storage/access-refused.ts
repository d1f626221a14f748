import { KubeError, undefinedOn, type KubeErrorCode } from '../../kube/error.ts';

/** The API server denies a resource or does not have it. A command then shows everything else. */
const unavailable: readonly KubeErrorCode[] = ['forbidden', 'notFound', 'refused'];

export function isUnavailable(error: unknown): boolean {
  return error instanceof KubeError && unavailable.includes(error.code);
}

/** Resolves to undefined where the resource is unavailable. */
export function ifAvailable<T>(read: Promise<T>): Promise<T | undefined> {
  return undefinedOn(read, ...unavailable);
}
