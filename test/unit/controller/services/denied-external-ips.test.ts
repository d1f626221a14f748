import { beforeEach, describe, expect, test } from 'vitest';
import { BareMetalProvider } from '../../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../../src/controller/controller.ts';
import type { RecordedStatus, ServiceStatus, StatusWriter } from '../../../../src/controller/status-writer.ts';
import type { Labels, ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { ObjectEvent } from '../../../../src/model/objects/object-event.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { cluster, config, matching, pool, service, type ServiceLiteral } from '../../decisions/fixtures.ts';
import { TestSource } from '../../test-source.ts';

const denied = { type: 'herald.dev/ExternalIPsAllowed', status: 'False', reason: 'ExternalIPNotAllowed' };
let source: TestSource;
let statuses: Map<ServiceKey, ServiceStatus>;
let writes: number;
let events: ObjectEvent[];
let controller: Controller;

const policy = (...cidrs: readonly string[]) => [...cluster({ externalIPPolicies: [{ cidrs }] }).externalIPPolicies.values()] as const;

beforeEach(async () => {
  source = new TestSource(pool({ name: 'main', addresses: ['192.0.2.0/24'] }));
  [statuses, writes] = [new Map(), 0];
  await start();
});

async function start(): Promise<void> {
  events = [];
  const writer: StatusWriter = {
    recorded: async (): Promise<RecordedStatus> => ({
      addresses: new Map([...statuses].map(([key, { ingress }]) => [key, ingress.flatMap(({ address }) => address ?? [])])),
      conditions: new Map([...statuses].map(([key, { conditions }]) => [key, conditions])),
      unreadable: new Map(),
    }),
    writeService: async (key, status) => {
      if (JSON.stringify(statuses.get(key)?.conditions) !== JSON.stringify(status.conditions)) writes++;
      statuses.set(key, status);
      source.record(key, status.ingress);
    },
    releaseService: async (key) => {
      if (statuses.delete(key)) source.record(key, undefined);
    },
    writeObject: async () => undefined,
    removeObject: async () => undefined,
  };
  controller = new Controller({
    source,
    providers: [new BareMetalProvider()],
    writer,
    events: { record: (event) => void events.push(event) },
    clock: new VirtualClock(),
    random: () => 0,
    log: silentLog,
  });
  await controller.start();
  await controller.settled();
}

async function put(literal: ServiceLiteral): Promise<void> {
  source.put(service(literal));
  await controller.settled();
}

const conditionOf = (key: ServiceKey) => statuses.get(key)?.conditions.find(({ type }) => type === denied.type);
const eventsOf = (name: string): ObjectEvent[] =>
  events.filter(({ reason, regarding }) => reason === 'ExternalIPNotAllowed' && regarding.name === name);

describe.each([
  ['ClusterIP', '198.51.100.7'],
  ['NodePort', '2001:db8:5::7'],
  ['LoadBalancer', '198.51.100.7'],
] as const)('an external IP of a Service of type %s that no policy allows', (type, address) => {
  const web: ServiceLiteral = { name: 'shop/web', type, externalIPs: [address] };

  test('the Service has a condition and one Event, which name the address and the policy that is missing', async () => {
    await put(web);
    expect(conditionOf('shop/web')).toMatchObject({
      ...denied,
      message: expect.stringContaining(`o ExternalIPPolicy allows namespace "shop" the external IP ${address}`),
    });
    expect(eventsOf('web')).toMatchObject([
      { type: 'Warning', note: expect.stringContaining(`reate an ExternalIPPolicy with ${address} in spec.cidrs and namespace "shop"`) },
    ]);
    const before = writes;
    await put({ ...web, externalTrafficPolicy: 'Local' });
    expect(eventsOf('web')).toHaveLength(1);
    expect(conditionOf('shop/web')).toMatchObject(denied);
    // The address of a LoadBalancer keeps its other conditions.
    expect(writes).toBe(before);
  });

  test('a restarted controller records no second Event', async () => {
    await put(web);
    await controller.stop();
    await start();
    expect(eventsOf('web')).toEqual([]);
    expect(conditionOf('shop/web')).toMatchObject(denied);
  });

  test('the condition goes when a policy allows the address, and returns with the policy gone', async () => {
    await put(web);
    source.put(...policy(`${address}/${address.includes(':') ? 128 : 32}`));
    await controller.settled();
    expect(conditionOf('shop/web')).toBeUndefined();
    if (type !== 'LoadBalancer') expect(statuses.has('shop/web')).toBe(false);
    for (const one of policy('10.0.0.0/8')) source.remove(one);
    await controller.settled();
    expect(conditionOf('shop/web')).toMatchObject(denied);
    expect(eventsOf('web')).toHaveLength(2);
  });
});

test('the condition goes when the labels of the namespace change to those that a policy selects', async () => {
  const selecting = (labels: Labels) =>
    cluster({
      namespaces: { shop: labels },
      externalIPPolicies: [{ cidrs: ['198.51.100.0/24'], namespaceSelector: matching({ team: 'web' }) }],
    });
  const before = selecting({});
  source.put(...before.externalIPPolicies.values(), ...before.namespaces.values());
  await put({ name: 'shop/web', type: 'ClusterIP', externalIPs: ['198.51.100.7'] });
  expect(conditionOf('shop/web')).toMatchObject(denied);
  source.put(...selecting({ team: 'web' }).namespaces.values());
  await controller.settled();
  expect(conditionOf('shop/web')).toBeUndefined();
});

describe('no condition', () => {
  test('a Service of another proxy, a headless one and one without external IPs have none', async () => {
    await put({ name: 'shop/mesh', type: 'ClusterIP', externalIPs: ['198.51.100.7'], serviceProxyName: 'mesh' });
    await put({ name: 'shop/headless', type: 'ClusterIP', externalIPs: ['198.51.100.7'], headless: true });
    await put({ name: 'shop/plain', type: 'ClusterIP' });
    expect(statuses.size).toBe(0);
    expect(events).toEqual([]);
  });

  test('there is none while another program forwards and no BGPAdvertisement announces external IPs', async () => {
    source.put(config({ services: 'none' }));
    await put({ name: 'shop/web', type: 'ClusterIP', externalIPs: ['198.51.100.7'] });
    expect(statuses.size).toBe(0);
  });

  test('a LoadBalancer of another class gets an Event only: its status is not ours', async () => {
    await put({ name: 'shop/theirs', loadBalancerClass: 'example.com/lb', assigned: ['203.0.113.1'], externalIPs: ['198.51.100.7'] });
    expect(eventsOf('theirs')).toHaveLength(1);
    expect(statuses.size).toBe(0);
  });
});
