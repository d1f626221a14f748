import { isRecord } from '../../../lang/is-record.ts';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Condition } from '../../../model/objects/condition.ts';
import { ingressManifest, nodeStateManifest, type ObjectFields } from '../../../model/status-manifest.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { ObjectReference } from '../../../model/objects/object-event.ts';
import type { NodeState } from '../../../model/objects/node-state.ts';
import type { Ingress } from '../../../model/objects/service.ts';
import { formatTime } from '../../../model/time.ts';
import type { Clock } from '../../../system/clock.ts';
import { readIfThere, removeFile, replaceFile } from '../atomic-file.ts';
import { fileOf, nodesFolder, objectStatusFolder, statusFolder } from '../layout.ts';
import { SourceError } from '../../source.ts';
import type { RecordHealth } from './record-health.ts';
import { readRecordedAddresses, type RecordedAddresses } from '../recorded-addresses.ts';

export interface RecordedServiceStatus {
  readonly ingress: readonly Ingress[];
  readonly conditions: readonly Condition[];
}

export interface RecordedObjectStatus {
  readonly conditions: readonly Condition[];
  readonly fields: ObjectFields;
}

/**
 * Writes Herald's records into DIR/.herald: the StatusWriter of a standalone controller, and an agent's node state. Each file is replaced
 * as a whole, and only when its content differs. Calls for the same file run one after the other. All reject with SourceError:
 * `invalidName` for an invalid name, `notWritten` when the file system refuses.
 */
export class DirectoryStatusWriter {
  readonly #root: string;
  readonly #clock: Clock;
  readonly #health: RecordHealth | undefined;
  readonly #pending = new Map<string, Promise<void>>();

  constructor(root: string, { clock, health }: { readonly clock: Clock; readonly health?: RecordHealth }) {
    this.#root = root;
    this.#clock = clock;
    this.#health = health;
  }

  /** Returns all records, also those of Services that no longer exist. */
  recorded(): Promise<RecordedAddresses> {
    return readRecordedAddresses(this.#root);
  }

  async writeService(key: ServiceKey, { ingress, conditions }: RecordedServiceStatus): Promise<void> {
    const [namespace = '', name = ''] = key.split('/', 2);
    await this.#write(fileOf(statusFolder, namespace, name), (before) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace, name },
      status: { loadBalancer: { ingress: ingressManifest(ingress) }, conditions: this.#dated(conditions, before) },
    }));
  }

  async releaseService(key: ServiceKey): Promise<void> {
    const [namespace = '', name = ''] = key.split('/', 2);
    await this.#remove(fileOf(statusFolder, namespace, name));
  }

  /** Resolves to the conditions that were recorded before. */
  async writeObject({ kind, name }: ObjectReference, { conditions, fields }: RecordedObjectStatus): Promise<readonly Condition[]> {
    let recorded: readonly Condition[] = [];
    await this.#write(objectFile(kind, name), (before) => {
      recorded = conditionsIn(before).flatMap((condition) => (isCondition(condition) ? [condition] : []));
      return {
        apiVersion: 'herald.dev/v1alpha1',
        kind,
        metadata: { name },
        status: { ...fields, conditions: this.#dated(conditions, before) },
      };
    });
    return recorded;
  }

  async removeObject(kind: string, name: string): Promise<void> {
    await this.#remove(objectFile(kind, name));
  }

  async writeNodeState(state: NodeState): Promise<void> {
    await this.#write(fileOf(nodesFolder, state.metadata.name), () => nodeStateManifest(state));
  }

  /** A condition keeps its transition time while its status is the same (metav1.Condition). */
  #dated(conditions: readonly Condition[], before: unknown): object[] {
    const known = conditionsIn(before);
    const now = formatTime(this.#clock.date().getTime());
    return conditions.map(({ type, status, reason, message, observedGeneration }) => {
      const last = known.find((condition) => condition['type'] === type && condition['status'] === status)?.['lastTransitionTime'];
      const observed = observedGeneration === undefined ? {} : { observedGeneration };
      return { type, status, ...observed, reason, message, lastTransitionTime: typeof last === 'string' ? last : now };
    });
  }

  #remove(file: string): Promise<void> {
    return this.#inOrder(file, () => removeFile(join(this.#root, file)));
  }

  #write(file: string, content: (before: unknown) => object): Promise<void> {
    return this.#inOrder(file, async () => {
      const path = join(this.#root, file);
      const text = await readIfThere(path);
      // aliasDuplicateObjects is off, because people read these files.
      const next = stringify(content(text === undefined ? undefined : decoded(text)), { aliasDuplicateObjects: false, lineWidth: 0 });
      if (next !== text) await replaceFile(path, next);
    });
  }

  async #inOrder(file: string, work: () => Promise<void>): Promise<void> {
    const run = after(this.#pending.get(file), work);
    this.#pending.set(file, run);
    try {
      await run;
      this.#health?.written(file);
    } catch (error) {
      if (error instanceof SourceError && error.code === 'notWritten') this.#health?.failed(file, causeOf(error));
      throw error;
    } finally {
      if (this.#pending.get(file) === run) this.#pending.delete(file);
    }
  }
}

/** The code of the system's error: "ENOSPC". */
function causeOf({ cause }: SourceError): string {
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? 'unknown error';
}

function objectFile(kind: string, name: string): string {
  return fileOf(objectStatusFolder, kind.toLowerCase(), name);
}

function conditionsIn(recorded: unknown): Readonly<Record<string, unknown>>[] {
  const status = isRecord(recorded) && isRecord(recorded['status']) ? recorded['status'] : {};
  return Array.isArray(status['conditions']) ? status['conditions'].filter(isRecord) : [];
}

function isCondition(value: Partial<Condition>): value is Condition {
  const { type, status, reason } = value;
  return typeof type === 'string' && typeof status === 'string' && typeof reason === 'string';
}

/** The caller of the earlier write gets its error; the later write replaces the file anyway. */
async function after(earlier: Promise<void> | undefined, work: () => Promise<void>): Promise<void> {
  await earlier?.catch(() => undefined);
  await work();
}

/** A broken file counts as empty. */
function decoded(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
