import { isRecord } from '../../../src/lang/is-record.ts';
import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { parseObject, type ParseOptions, type ParseResult } from '../../../src/model/parse.ts';
import { Store } from '../../../src/model/store/store.ts';

export type Document = Readonly<Record<string, unknown>>;

export function documentsIn(file: string): Document[] {
  const documents = parseAllDocuments(readFileSync(new URL(file, import.meta.url), 'utf8'));
  return documents.map((document) => {
    const value: unknown = document.toJS();
    assert(isRecord(value));
    return value;
  });
}

/** The options with which a source in a cluster reads objects. */
const inCluster: ParseOptions = { unknownFields: 'warned of' };

export const read = (document: unknown): ParseResult => parseObject(document, inCluster);

/** Returns the snapshot that a controller or an agent has after reading these files. */
export function snapshotOf(...files: readonly string[]): Store {
  const store = new Store();
  for (const { object } of files.flatMap(documentsIn).map(read)) {
    assert(object !== undefined);
    store.upsert(object);
  }
  return store;
}
