import { defined } from '../../lang/defined.ts';
import { isRecord } from '../../lang/is-record.ts';
import { readServiceRecord } from '../../model/parse/service/service-record.ts';
import { serviceKey, type NamespacedName } from '../../model/objects/metadata.ts';
import type { Change } from '../../model/store/snapshot.ts';
import type { Store } from '../../model/store/store.ts';
import type { SourceProblem } from '../source.ts';
import { decodeDocuments } from './decode/documents.ts';
import type { FileContent } from './read-file.ts';

/** Reads the recorded addresses of Services from .herald/status into the store. A broken record leaves the last one in force. */
export class RecordSet {
  readonly #store: Store;
  readonly #problems = new Map<string, readonly SourceProblem[]>();

  constructor(store: Store) {
    this.#store = store;
  }

  update(file: string, service: NamespacedName, content: FileContent): Change[] {
    this.#problems.delete(file);
    const key = serviceKey(service);
    if (content.kind === 'gone') return this.#store.setIngress(key, undefined);
    if (content.kind === 'unreadable') return this.#refuse(file, content.message);
    const [document] = decodeDocuments(content.text, false);
    // Herald renames whole files into place, so only a person can empty one. The last record stays, as for any broken one.
    if (document === undefined || document.errors.length > 0 || !isRecord(document.raw)) {
      return this.#refuse(file, document?.errors[0]?.message ?? 'is no record of a Service', document?.errors[0]?.line);
    }
    const { ingress, addressTaken, recordedTerms, recordedPools, problems } = readServiceRecord(document.raw);
    const [problem] = problems;
    if (problem !== undefined) return this.#refuse(file, `${problem.field}: ${problem.message}`, document.locate(problem.path).line);
    return this.#store.setIngress(key, ingress, defined({ addressTaken, recordedTerms, recordedPools }));
  }

  problems(): SourceProblem[] {
    return [...this.#problems.values()].flat();
  }

  #refuse(file: string, message: string, line?: number): Change[] {
    const fix = 'mend the file, for deleting it may cost the address; a record that was read before stays in force';
    this.#problems.set(file, [{ severity: 'error', file, ...(line === undefined ? {} : { line, column: 1 }), message, fix }]);
    return [];
  }
}
