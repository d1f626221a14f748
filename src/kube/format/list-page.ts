import { isRecord } from '../../lang/is-record.ts';
import { defined } from '../../lang/defined.ts';
import { KubeError } from '../error.ts';

/** Reads the metadata of a list. Throws KubeError (malformed) for anything else. */
export function listPosition(metadata: unknown): { readonly resourceVersion: string; readonly continue?: string } {
  const { resourceVersion, continue: token } = isRecord(metadata) ? metadata : {};
  if (typeof resourceVersion !== 'string') throw new KubeError('malformed', 'the answer is not a list');
  return { resourceVersion, ...defined({ continue: typeof token === 'string' && token !== '' ? token : undefined }) };
}
