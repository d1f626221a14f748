import { KubeError } from '../../kube/error.ts';

/** True when the API server denies this resource or does not have it. The command then shows everything else. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof KubeError && (error.code === 'forbidden' || error.code === 'notFound' || error.code === 'refused');
}
