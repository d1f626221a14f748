import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ProcessEndpoints } from '../../../../../src/cli/process/endpoints/process-endpoints.ts';
import type { Node } from '../../../../../src/model/objects/cluster.ts';
import { VirtualClock } from '../../../../../src/system/virtual-clock.ts';
import { FakeHttp } from '../../../agent/fakes/fake-http.ts';
import { node as nodeOf } from '../../../decisions/fixtures.ts';
import { TestSource } from '../../../test-source.ts';

const n1 = (...internalIPs: string[]): Node => nodeOf({ name: 'n1', internalIPs });

/** The endpoints of an agent, with the warnings that they log. */
function begun(source: TestSource, atNode: { readonly atNode?: number } = { atNode: 10_290 }) {
  const http = new FakeHttp();
  const clock = new VirtualClock();
  const warned: string[] = [];
  const log = {
    debug: () => undefined,
    info: () => undefined,
    error: () => undefined,
    warn: (_: object, text: string) => void warned.push(text),
  };
  const metricsAddress = { places: [], ...atNode };
  const options = { metricsAddress, healthAddress: { places: [] }, command: 'agent', socket: 'none', live: 'metrics' } as const;
  const telemetry = new ProcessEndpoints({ clock, nodejs: 'v24' }, options, log, http.listen);
  const end = telemetry.followNode(source, 'n1');
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 4; i++) await setImmediate();
  };
  return { http, clock, warned, telemetry, end, settle };
}

const loopback = ['127.0.0.1:10290', '::1:10290'];

test.each<[string, Node[]]>([
  ['has no InternalIP yet', [n1()]],
  ['does not exist yet', []],
])('metrics of an agent whose Node %s move from loopback to the addresses of both families', async (_, objects) => {
  const source = new TestSource(...objects);
  const { http, warned, settle } = begun(source);
  await settle();
  expect(http.open).toEqual(loopback);
  expect(warned).toHaveLength(1);
  source.put(nodeOf({ name: 'n2', internalIPs: ['10.0.0.12'] }));
  await settle();
  expect(http.open).toEqual(loopback);
  source.put(n1('10.0.0.11', '2001:db8::11'));
  await settle();
  expect(http.open).toEqual(['10.0.0.11:10290', '2001:db8::11:10290']);
});

test('metrics follow a Node to a new address, and listeners of other addresses stay open', async () => {
  const source = new TestSource(n1('10.0.0.11', '2001:db8::11'));
  const { http, warned, settle } = begun(source);
  await settle();
  source.put({ ...n1('10.0.0.11', '2001:db8::11'), ready: false });
  await settle();
  source.put(n1('10.0.0.21', '2001:db8::11'));
  await settle();
  expect(http.log).toEqual(['open 10.0.0.11:10290', 'open 2001:db8::11:10290', 'open 10.0.0.21:10290', 'close 10.0.0.11:10290']);
  expect(warned).toEqual([]);
});

test('an address that returns before its port is free is served again without a failure', async () => {
  const source = new TestSource(n1('10.0.0.11'));
  const { http, clock, warned, settle } = begun(source);
  await settle();
  const timers = clock.pending;
  source.put(n1('10.0.0.12'));
  source.put(n1('10.0.0.11'));
  await settle();
  expect(http.open).toEqual(['10.0.0.11:10290']);
  expect([warned, clock.pending]).toEqual([[], timers]);
});

test('a Node that loses its addresses or is deleted is still scraped at the old ones', async () => {
  const source = new TestSource(n1('10.0.0.11'));
  const { http, settle } = begun(source);
  await settle();
  source.put(n1());
  await settle();
  source.remove(n1());
  await settle();
  expect(http.log).toEqual(['open 10.0.0.11:10290']);
});

test('metrics are not served at the Node without the option, nor after the end', async () => {
  const source = new TestSource(n1());
  const elsewhere = begun(source, {});
  const { http, telemetry, end, settle } = begun(source);
  await settle();
  expect([elsewhere.http.open, elsewhere.warned]).toEqual([[], []]);
  end();
  await telemetry.close();
  source.put(n1('10.0.0.11'));
  await settle();
  expect([http.open, elsewhere.http.open]).toEqual([[], []]);
});
