import { get } from 'node:http';
import { parseAllDocuments } from 'yaml';
import type { HistoryEntry } from '../../../src/live/contract.ts';
import type { Files } from './edits.ts';

/** Objects on which no decision of the lab rests. Each edit changes them too. */
export function unrelated(version: number): string {
  return `apiVersion: v1
kind: Namespace
metadata: { name: zz, labels: { version: "${version}" } }
---
apiVersion: herald.dev/v1alpha1
kind: IPAddressPool
metadata: { name: unused, labels: { version: "${version}" } }
spec: { addresses: [192.0.2.128/28], autoAssign: false }
---
apiVersion: herald.dev/v1alpha1
kind: BGPAdvertisement
metadata: { name: unused }
spec: { ipAddressPools: [unused], localPref: ${version + 1} }
`;
}

/** Returns the entries that a process has recorded since a time, by its socket. */
export async function historySince(socketPath: string, since: Date): Promise<readonly HistoryEntry[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const path = `/live/v1/history?since=${encodeURIComponent(since.toISOString())}`;
  get({ socketPath, path }, (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (part: string) => (text += part));
    response.on('end', () => resolve(text));
  }).on('error', reject);
  const { items } = JSON.parse(await promise) as { readonly items: readonly HistoryEntry[] };
  return items;
}

/** Returns the objects that differ, as entries name them: "Service shop/web". */
export function editedObjects(before: Files, after: Files): ReadonlySet<string> {
  const [old, next] = [objectsIn(before), objectsIn(after)];
  return new Set([...old.keys(), ...next.keys()].filter((name) => old.get(name) !== next.get(name)));
}

function objectsIn(files: Files): Map<string, string> {
  const objects = [...files.values()].flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Manifest | null));
  return new Map(
    objects.flatMap((object): [string, string][] => {
      if (object === null) return [];
      const { namespace, name } = object.metadata;
      return [[`${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`, JSON.stringify(object)]];
    }),
  );
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly namespace?: string; readonly name: string };
}
