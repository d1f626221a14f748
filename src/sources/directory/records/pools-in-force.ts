import { isRecord } from '../../../lang/is-record.ts';
import type { HeraldObject } from '../../../model/store/snapshot.ts';
import { decodeDocuments } from '../decode/documents.ts';
import type { FileContent } from '../read-file.ts';

/**
 * Tells since when pools are in force, from their recorded conditions. A directory has no creation times, so without the records the name
 * would decide which of two overlapping pools came first. A broken record leaves the last one in force.
 */
export class PoolsInForce {
  readonly #since = new Map<string, string>();

  /** Returns true when the time differs. */
  update(pool: string, content: FileContent): boolean {
    if (content.kind === 'unreadable') return false;
    const before = this.#since.get(pool);
    const after = content.kind === 'gone' ? undefined : inForceSince(content.text, before);
    if (after === undefined) this.#since.delete(pool);
    else this.#since.set(pool, after);
    return before !== after;
  }

  /** Adds the time to a pool. Pools of another program have no record. */
  dated(object: HeraldObject): HeraldObject {
    if (object.kind !== 'IPAddressPool' || object.metadata.origin !== undefined) return object;
    const since = this.#since.get(object.metadata.name);
    return since === undefined ? object : { ...object, metadata: { ...object.metadata, inForceSince: since } };
  }
}

/**
 * A pool whose file an edit broke is not accepted, yet its last good version stays in force: then Ready says something else than Accepted.
 */
function inForceSince(text: string, before: string | undefined): string | undefined {
  const [document] = decodeDocuments(text, false);
  if (document === undefined || document.errors.length > 0 || !isRecord(document.raw)) return before;
  const status = isRecord(document.raw['status']) ? document.raw['status'] : {};
  const conditions = Array.isArray(status['conditions']) ? status['conditions'].filter(isRecord) : [];
  const of = (type: string) => conditions.find((condition) => condition['type'] === type);
  const [accepted, ready] = [of('Accepted'), of('Ready')];
  const since = accepted?.['lastTransitionTime'];
  if (typeof since !== 'string') return undefined;
  if (accepted?.['status'] === 'True') return since;
  const isGone = ready === undefined || ready['reason'] === accepted?.['reason'] || ready['reason'] === 'PoolOverlaps';
  return isGone ? undefined : since;
}
