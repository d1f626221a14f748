import { expect, test } from 'vitest';
import { noControllerObserver } from '../../../../src/controller/controller-observer.ts';
import { ServiceStatuses } from '../../../../src/controller/services/service-statuses.ts';
import type { StatusWriter } from '../../../../src/controller/status-writer.ts';
import { serviceKey } from '../../../../src/model/objects/metadata.ts';
import type { ObjectEvent } from '../../../../src/model/objects/object-event.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { service } from '../../decisions/fixtures.ts';

const web = service({ name: 'shop/web' });
const key = serviceKey(web.metadata);

function statusesInto(events: ObjectEvent[]): ServiceStatuses {
  const observer = noControllerObserver;
  const writer = {} as StatusWriter;
  const sink = { record: (event: ObjectEvent) => void events.push(event) };
  return new ServiceStatuses({ writer, events: sink, observer, clock: new VirtualClock(), log: silentLog }, () => undefined);
}

test.each(['forget', 'disown'] as const)('news about a Service come once, and again after %s', (end) => {
  const events: ObjectEvent[] = [];
  const statuses = statusesInto(events);
  statuses.recordRemarks(web, { notices: ['one'] });
  statuses.recordRemarks(web, { notices: ['one', 'two'] });
  expect(events.map(({ note }) => note)).toEqual(['one', 'two']);
  statuses[end](key, 'it was deleted');
  statuses.recordRemarks(web, { notices: ['two'] });
  expect(events.map(({ note }) => note)).toEqual(['one', 'two', 'two']);
});
