import { beforeEach, expect, test } from 'vitest';
import { RecentChanges } from '../../../src/live/recent-changes.ts';
import { limits } from '../../../src/live/limits.ts';
import { serviceKey } from '../../../src/model/objects/metadata.ts';
import type { HeraldObject } from '../../../src/model/store/snapshot.ts';
import { formatAddress } from '../../../src/net/address.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { l2Advertisement, node, pool, service } from '../decisions/fixtures.ts';
import { TestSource } from '../test-source.ts';

const web = service({ name: 'web' });
const key = serviceKey(web.metadata);
let clock: VirtualClock;
let source: TestSource;
let causes: RecentChanges;
/** Whether decisions rest on an object. */
let related: (versions: readonly HeraldObject[]) => boolean;

beforeEach(() => {
  clock = new VirtualClock();
  clock.advance(3_600_000);
  source = new TestSource();
  related = () => true;
  causes = new RecentChanges(clock, { ofService: (_, versions) => related(versions), ofPeer: (_, versions) => related(versions) });
  source.onChange((changes) => causes.recordChanges(changes, source.snapshot));
});

const lately = (): string[] | undefined => causes.takeRecentCauses(key)?.map(({ kind, name }) => `${kind} ${name}`);

function firstAddress(object: HeraldObject): string {
  const [first] = object.kind === 'IPAddressPool' ? object.addresses : [];
  return first === undefined ? '' : formatAddress(first.first);
}

let version = 1;
const newer = (object: HeraldObject): HeraldObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(++version) },
});

test('an old change is no cause', () => {
  source.put(web, node({ name: 'node7' }));
  clock.advance(limits.causeMilliseconds + 1);
  expect(lately()).toBeUndefined();
});

test("the Service's own change comes before later changes of shared objects", () => {
  source.put(newer(web));
  clock.advance(5);
  source.put(newer(node({ name: 'node7' })));
  expect(lately()).toEqual(['Service default/web', 'Node node7']);
});

test('only shared objects that changed together are causes, the latest first', () => {
  source.put(newer(node({ name: 'node7' })));
  clock.advance(limits.togetherMilliseconds + 1);
  source.put(newer(pool({ name: 'main', addresses: ['192.0.2.0/24'] })));
  clock.advance(1);
  source.put(newer(pool({ name: 'other', addresses: ['198.51.100.0/24'] })));
  expect(lately()).toEqual(['IPAddressPool other', 'IPAddressPool main']);
});

test('an advertisement that was changed is not said to be deleted', () => {
  source.put(newer(l2Advertisement({ name: 'lan' })));
  expect(causes.takeRecentCauses(key)).toEqual([{ kind: 'L2Advertisement', name: 'lan', resourceVersion: String(version) }]);
});

test('a cause is named once', () => {
  source.put(newer(web));
  expect(lately()).toEqual(['Service default/web']);
  expect(lately()).toBeUndefined();
  source.put(newer(pool({ name: 'main', addresses: ['192.0.2.0/24'] })));
  expect(lately()).toEqual(['IPAddressPool main']);
});

test('shared objects on which the decision does not rest are no causes, however many changed later', () => {
  related = (versions) => versions.some(({ kind }) => kind === 'IPAddressPool');
  source.put(newer(pool({ name: 'main', addresses: ['192.0.2.0/24'] })));
  for (let i = 0; i < limits.causes * 2; i++) source.put(newer(node({ name: `node${i}` })));
  expect(causes.causesOf(key)?.map(({ name }) => name)).toEqual(['main']);
  expect(lately()).toEqual(['IPAddressPool main']);
});

test('a decision may rest on an object before its changes, from the first unreconciled change on', () => {
  const seen: string[][] = [];
  source.put(pool({ name: 'main', addresses: ['192.0.2.0/24'] }));
  causes = new RecentChanges(clock, { ofService: (_, versions) => seen.push(versions.map(firstAddress)) > 0, ofPeer: () => true });
  causes.startFrom(source.snapshot);
  source.put(pool({ name: 'main', addresses: ['198.51.100.0/24'] }));
  source.put(pool({ name: 'main', addresses: ['203.0.113.0/24'] }));
  causes.causesOf(key);
  expect(seen.at(-1)).toEqual(['192.0.2.0', '203.0.113.0']);
  source.remove(pool({ name: 'main', addresses: ['203.0.113.0/24'] }));
  causes.causesOf(key);
  expect(seen.at(-1)).toEqual(['192.0.2.0', '203.0.113.0']);
});

test('the causes of a node are its own object and the settings of all nodes', () => {
  source.put(newer(node({ name: 'node1' })), newer(node({ name: 'node2' })), newer(pool({ name: 'main', addresses: ['192.0.2.0/24'] })));
  expect(causes.causesOfNode('node1')?.map(({ name }) => name)).toEqual(['node1']);
});
