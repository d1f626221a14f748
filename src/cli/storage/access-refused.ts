import { KubeError } from '../../kube/error.ts';

/** Whether the API server has answered that the caller gets nothing there: he is told everything else. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof KubeError && (error.code === 'forbidden' || error.code === 'notFound' || error.code === 'refused');
}
