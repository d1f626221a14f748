import { expect, test } from 'vitest';
import { L2History } from '../../../../src/agent/live/l2-history.ts';
import type { L2Event } from '../../../../src/l2/index.ts';
import { History } from '../../../../src/live/history.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const at = new Date('2026-01-01T12:00:00Z');
const where = { at, address: '192.0.2.1', interface: 'eth0' } as const;

/** Two Services share the address. */
function recorded() {
  const history = new History(new VirtualClock());
  const services = new Map<string, ServiceKey[]>([['192.0.2.1', ['shop/web', 'shop/api']]]);
  const l2 = new L2History(history, 'n1', (address) => services.get(address) ?? []);
  const texts = (...events: readonly L2Event[]): string[] => {
    for (const event of events) l2.take(event);
    return history.entries().map(({ kind, name, what, text }) => `${kind} ${name} ${what}: ${text}`);
  };
  return { services, texts };
}

test('a claim is in the history of every Service of the address, with the node that had it before', () => {
  const previous = { node: 'n2', session: 'Down' } as const;
  expect(recorded().texts({ kind: 'changed', ...where, from: 'standby', to: 'owner', cause: 'elected', previous })).toEqual([
    'Service shop/web Owner: answers for 192.0.2.1 on eth0: it is the best placed node that lives; before, n2 had it, with which BFD is Down',
    'Service shop/api Owner: answers for 192.0.2.1 on eth0: it is the best placed node that lives; before, n2 had it, with which BFD is Down',
  ]);
});

test('the loss of an address names the node that took it, also when the Service is gone by then', () => {
  const { services, texts } = recorded();
  texts({ kind: 'changed', ...where, from: 'probing', to: 'owner', cause: 'probesSilent' });
  services.clear();
  expect(
    texts({ kind: 'changed', ...where, from: 'keeping', to: 'standby', cause: 'heardBetter', node: 'n2', mac: '02:00:00:00:00:02' }).at(-1),
  ).toBe('Service shop/api NotOwner: no longer answers for 192.0.2.1 on eth0: a better placed node announced the address (n2)');
});

test('a change of state that clients do not notice is not recorded', () => {
  expect(
    recorded().texts(
      { kind: 'changed', ...where, from: 'owner', to: 'keeping', cause: 'deferred' },
      { kind: 'changed', ...where, from: 'standby', to: 'probing', cause: 'electedFirst' },
    ),
  ).toEqual([]);
});

test.each<[L2Event, string]>([
  [
    { kind: 'conflict', ...where, mac: '02:00:00:00:00:99' },
    'Service shop/web Conflict: 02:00:00:00:00:99, which is no node, uses 192.0.2.1 on eth0',
  ],
  [{ kind: 'disputed', ...where, node: 'n3' }, 'Service shop/web Disputed: n3 claims 192.0.2.1 on eth0 again and again'],
  [{ kind: 'stalled', at, milliseconds: 412.4 }, 'Node n1 Stalled: the thread that answers ARP and NDP did not run for 412 ms'],
  [{ kind: 'isolated', at, interface: 'eth0' }, 'Node n1 Isolated: lost BFD with all other candidates on eth0 at once'],
  [{ kind: 'rejoined', at, interface: 'eth0' }, 'Node n1 Rejoined: BFD with another candidate on eth0 is up again'],
  [{ kind: 'suspended', at }, 'Node n1 Suspended: ends all answers'],
  [{ kind: 'resumed', at }, 'Node n1 Resumed: the main thread'],
])('the event %j is recorded', (event, text) => {
  expect(recorded().texts(event)[0]).toContain(text);
});
