import { expect, test } from 'vitest';
import { AddressOwners } from '../../../../src/controller/services/address-owners.ts';
import type { AddressClaim, NodeState } from '../../../../src/model/objects/node-state.ts';
import type { ObjectEvent } from '../../../../src/model/objects/object-event.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { cluster, metadata } from '../../decisions/fixtures.ts';

const vip = '192.0.2.100';

/** Two Services share the address. Nodes report their claims and conflicts. */
function watched(...first: readonly NodeState[]) {
  const { services, nodes } = cluster({
    services: ['shop/web', 'shop/api'].map((name) => ({ name: name as 'shop/web', assigned: [vip] })),
    nodes: [{ name: 'n1' }, { name: 'n2' }],
  });
  const store = new Store();
  for (const object of [...services.values(), ...nodes.values(), ...first]) store.upsert(object);
  const events: ObjectEvent[] = [];
  const owners = new AddressOwners({ log: silentLog, events: { record: (event) => void events.push(event) } });
  owners.adopt(store);
  const told = (state: NodeState): string[] => {
    events.splice(0);
    store.upsert(state);
    owners.changed([{ kind: 'NodeState', key: state.metadata.name }], store);
    return events.map(({ regarding, type, reason: code, note }) => `${type} ${code} ${regarding.name}: ${note}`);
  };
  return { told, store, owners };
}

function state(node: string, claims: readonly AddressClaim[], differing: NodeState['differing'] = []): NodeState {
  return { kind: 'NodeState', metadata: metadata(node), updated: '2026-01-01T00:00:00Z', consumed: {}, sessions: [], differing, claims };
}

const conflict = (linkAddress: string): NodeState['differing'] => {
  const details = { address: vip, linkAddress, interface: 'eth0', node: 'n1' };
  return [{ service: 'shop/web', aspect: 'Announced', reason: reason('L2AddressContested', details) }];
};

test('a change of owner is an Event on every Service of the address, with both nodes', () => {
  const { told } = watched(state('n1', [{ address: vip, number: 1 }]));
  expect(told(state('n2', [{ address: vip, number: 2 }])).toSorted()).toEqual([
    `Normal AddressOwnerChanged api: n2 answers for ${vip} now; before, n1 did`,
    `Normal AddressOwnerChanged web: n2 answers for ${vip} now; before, n1 did`,
  ]);
});

test.each<[string, readonly NodeState[], NodeState]>([
  ['the first owner of an address', [], state('n1', [{ address: vip, number: 1 }])],
  [
    'a report that only says that the agent lives',
    [state('n1', [{ address: vip, number: 1 }])],
    state('n1', [{ address: vip, number: 1 }]),
  ],
  [
    'a claim that is older than that of another node',
    [state('n1', [{ address: vip, number: 3 }])],
    state('n2', [{ address: vip, number: 2 }]),
  ],
])('%s is no Event', (_, first, next) => {
  expect(watched(...first).told(next)).toEqual([]);
});

test('a change that an earlier controller saw is not reported again', () => {
  const { told } = watched(state('n1', [{ address: vip, number: 1 }]), state('n2', [{ address: vip, number: 2 }]));
  expect(told(state('n1', [{ address: vip, number: 1 }]))).toEqual([]);
});

test('a conflict is an Event with the MAC address as soon as a node reports it, and once while it lasts', () => {
  const { told } = watched(state('n1', []));
  expect(told(state('n1', [], conflict('02:00:00:00:00:99')))).toEqual([
    expect.stringMatching(
      /^Warning L2AddressContested web: 02:00:00:00:00:99 on eth0 of node "n1" uses 192\.0\.2\.100 too: .*IPAddressPool/i,
    ),
  ]);
  expect(told(state('n1', [], conflict('02:00:00:00:00:99')))).toEqual([]);
  expect(told(state('n1', [], conflict('02:00:00:00:00:77')))).toHaveLength(1);
  told(state('n1', []));
  expect(told(state('n1', [], conflict('02:00:00:00:00:77')))).toHaveLength(1);
});
