import { beforeEach, describe, expect, test } from 'vitest';
import { EventHistory } from '../../../../src/controller/events/event-history.ts';
import { History } from '../../../../src/live/history.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { advertisement, metadata, node, pool, service } from '../../decisions/fixtures.ts';
import { TestSource } from '../../test-source.ts';

let source: TestSource;
let history: History;
let events: EventHistory;

beforeEach(() => {
  const clock = new VirtualClock();
  source = new TestSource(
    service({ name: 'shop/web', assigned: ['192.0.2.1'] }),
    pool({ name: 'main', addresses: ['192.0.2.0/28'] }),
    advertisement({ name: 'all', ipAddressPools: ['main'] }),
    node({ name: 'n1' }),
  );
  history = new History(clock);
  events = new EventHistory({ history, source, clock });
});

const causes = (): string[] => {
  events.record({
    regarding: { kind: 'Service', namespace: 'shop', name: 'web' },
    type: 'Warning',
    reason: 'NoAdvertisement',
    note: '',
    action: '',
  } as never);
  return (history.entries().at(-1)?.causes ?? []).map(({ kind, name }) => `${kind} ${name}`);
};

const namespace = (name: string): HeraldObject => ({ kind: 'Namespace', metadata: metadata(name) });

describe('an Event in the history of the controller', () => {
  test('names the edited advertisement, and no other object that changed with it', () => {
    source.put(advertisement({ name: 'all', ipAddressPools: ['other'] }));
    source.put(pool({ name: 'spare', addresses: ['198.51.100.0/28'] }), namespace('shop'), namespace('zz'));
    expect(causes()).toEqual(['BGPAdvertisement all']);
  });

  test('names no object if only others changed', () => {
    source.put(namespace('zz'), advertisement({ name: 'more', ipAddressPools: ['other'] }));
    expect(causes()).toEqual([]);
  });
});
