import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { sessionChange } from '../../../../src/agent/sessions/session-change.ts';
import { peersOfNode, type SessionIntent } from '../../../../src/decisions/announcement/peers.ts';
import { importObjects } from '../../../../src/model/metallb/import.ts';
import { MergedObjects } from '../../../../src/model/metallb/merge.ts';
import { parseAnyObject } from '../../../../src/model/metallb/read.ts';
import { Store } from '../../../../src/model/store/store.ts';

const mode = { compat: ['metallb'], namespace: 'metallb-system' } as const;
const file = join(import.meta.dirname, '../../../../examples/metallb/installation.yaml');
const installation = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as unknown);
const node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1', labels: { rack: '1' } },
  status: { addresses: [{ type: 'InternalIP', address: '10.0.1.9' }] },
};

function sessions(store: Store): Map<string, SessionIntent> {
  return new Map(peersOfNode(store, 'n1').flatMap(({ peer, result }) => ('session' in result ? [[peer, result.session] as const] : [])));
}

test('a session does not change when a herald.dev object replaces the MetalLB object it was made from', () => {
  const store = new Store();
  const objects = new MergedObjects(store);
  for (const raw of [node, ...installation]) {
    const { object } = parseAnyObject(raw, mode);
    if (object !== undefined) objects.upsert(object);
  }
  const before = sessions(store);
  expect([...before.keys()]).toEqual(['tor1']);
  for (const { manifest } of importObjects(installation.map((raw) => ({ raw })))) {
    const { object } = parseAnyObject(manifest, mode);
    if (object !== undefined) objects.upsert(object);
  }
  expect(store.peers.get('tor1')?.metadata.origin).toBeUndefined();
  const after = sessions(store);
  expect([...after.keys()]).toEqual(['tor1']);
  for (const [peer, intent] of after) expect(sessionChange(before.get(peer) as SessionIntent, intent)).toBeUndefined();
});
