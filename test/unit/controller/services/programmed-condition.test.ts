import { expect, test } from 'vitest';
import { assessProgrammed } from '../../../../src/controller/services/service-conditions.ts';
import { judgementOf } from '../../../../src/controller/services/service-judgement.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { metadata, node, service } from '../../decisions/fixtures.ts';

const clock = new VirtualClock();

function report(name: string, change: Partial<NodeState>): NodeState {
  const updated = clock.date().toISOString();
  return { kind: 'NodeState', metadata: metadata(name), updated, consumed: {}, sessions: [], differing: [], ...change };
}

test('Programmed gives the reason of the Service itself when another node has a problem with every Service', () => {
  const refused = reason('FrontendQuarantined', { frontend: '192.0.2.1 TCP 80', error: 'no' });
  const store = new Store();
  for (const object of [
    node({ name: 'a' }),
    node({ name: 'b' }),
    service({ name: 'shop/web', assigned: ['192.0.2.1'] }),
    report('a', { problem: reason('DataPlaneFailed', { error: 'no' }) }),
    report('b', { differing: [{ service: 'shop/web', aspect: 'Programmed', reason: refused }] }),
  ])
    store.upsert(object);
  const web = store.services.get('shop/web');
  if (web === undefined) throw new Error('there is no Service');
  expect(assessProgrammed(judgementOf(store, web, undefined, clock.date().getTime()))).toMatchObject({
    status: 'False',
    reason: 'FrontendQuarantined',
  });
});
