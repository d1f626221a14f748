import { beforeEach, describe, expect, test } from 'vitest';
import { BareMetalProvider } from '../../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../../src/controller/controller.ts';
import { limits } from '../../../../src/controller/limits.ts';
import type { StatusWriter } from '../../../../src/controller/status-writer.ts';
import { limits as allocationLimits } from '../../../../src/decisions/allocation/limits.ts';
import type { ObjectEvent } from '../../../../src/model/objects/object-event.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { config, pool, service, type ServiceLiteral } from '../../decisions/fixtures.ts';
import { TestSource } from '../../test-source.ts';

const check = limits.reportWatchMilliseconds;
let clock: VirtualClock;
let source: TestSource;
let controller: Controller;
let events: ObjectEvent[];
let warned: { readonly fields: Readonly<Record<string, unknown>>; readonly message: string }[];
let written: string[];

beforeEach(async () => {
  clock = new VirtualClock();
  source = new TestSource(pool({ name: 'main', addresses: ['192.0.2.0/24'] }), config({ defaultClass: false }));
  await start();
});

async function start(): Promise<void> {
  [events, warned, written] = [[], [], []];
  const writer: StatusWriter = {
    recorded: async () => ({ addresses: new Map(), unreadable: new Map() }),
    writeService: async (key) => void written.push(key),
    releaseService: async () => undefined,
    writeObject: async () => undefined,
    removeObject: async () => undefined,
  };
  const warn = (fields: object, message: string): void => void warned.push({ fields: { ...fields }, message });
  controller = new Controller({
    source,
    providers: [new BareMetalProvider()],
    writer,
    events: { record: (event) => void (event.regarding.kind === 'Service' && events.push(event)) },
    clock,
    random: () => 0,
    log: { ...silentLog, warn },
  });
  await controller.start();
  await controller.settled();
}

async function put(...services: readonly ServiceLiteral[]): Promise<void> {
  source.put(...services.map(service));
  await controller.settled();
}

async function pass(milliseconds: number): Promise<void> {
  for (let left = milliseconds; left > 0; left -= check) {
    clock.advance(Math.min(check, left));
    await controller.settled();
  }
}

const names = (): string[] => events.map(({ regarding: { namespace, name } }) => `${namespace}/${name}`);

describe('a LoadBalancer without a class while Herald is not the default', () => {
  test('the Service gets one Warning with both fixes after 30 s, and nothing is written to it', async () => {
    await put({ name: 'shop/web' });
    await pass(allocationLimits.unclaimedMilliseconds - check);
    expect(events).toEqual([]);
    await pass(2 * check);
    expect(events).toMatchObject([
      {
        type: 'Warning',
        reason: 'ClassNotSet',
        action: 'AssignAddress',
        regarding: { kind: 'Service', namespace: 'shop', name: 'web' },
        note: expect.stringMatching(
          /et spec\.loadBalancerClass: herald\.dev\/herald .*immutable.*defaultClass: true in HeraldConfig\/default/,
        ),
      },
    ]);
    expect(warned).toMatchObject([{ fields: { services: ['shop/web'], count: 1, code: 'ClassNotSet' } }]);
    expect(written).toEqual([]);
  });

  test('a changed Service gets no second Event, and a new one of the same name gets its own', async () => {
    await put({ name: 'shop/web' });
    await pass(60_000);
    await put({ name: 'shop/web', externalTrafficPolicy: 'Local' });
    await pass(120_000);
    expect(names()).toEqual(['shop/web']);
    source.remove(service({ name: 'shop/web' }));
    await controller.settled();
    const anew = service({ name: 'shop/web' });
    source.put({ ...anew, metadata: { ...anew.metadata, uid: 'another' } });
    await controller.settled();
    await pass(60_000);
    expect(names()).toEqual(['shop/web', 'shop/web']);
  });

  test.each<[string, Partial<ServiceLiteral>]>([
    ['has an address of another controller', { assigned: ['203.0.113.7'] }],
    ['is of another class', { loadBalancerClass: 'example.com/lb' }],
    ['is of type ClusterIP', { type: 'ClusterIP' }],
  ])('a Service that %s gets no Event', async (_, change) => {
    await put({ name: 'shop/web', ...change });
    await pass(600_000);
    expect(events).toEqual([]);
  });

  test("a Service with the finalizer of a cloud's controller gets no Event", async () => {
    const web = service({ name: 'shop/web' });
    source.put({ ...web, metadata: { ...web.metadata, finalizers: ['service.kubernetes.io/load-balancer-cleanup'] } });
    await controller.settled();
    await pass(600_000);
    expect(events).toEqual([]);
  });

  test('a Service waits five minutes where another controller serves Services without a class', async () => {
    await put({ name: 'shop/theirs', assigned: ['203.0.113.7'] }, { name: 'shop/web' });
    await pass(allocationLimits.servedElsewhereMilliseconds - check);
    expect(events).toEqual([]);
    await pass(2 * check);
    expect(names()).toEqual(['shop/web']);
  });

  test('a Service that gets an address of another controller in time gets no Event', async () => {
    await put({ name: 'shop/web' });
    await pass(20_000);
    await put({ name: 'shop/web', assigned: ['203.0.113.7'] });
    await pass(600_000);
    expect(events).toEqual([]);
  });

  test('defaultClass: true ends the wait, and the Service gets an address', async () => {
    await put({ name: 'shop/web' });
    source.put(config());
    await controller.settled();
    await pass(600_000);
    expect(events.map(({ reason }) => reason)).not.toContain('ClassNotSet');
    expect(written).toContain('shop/web');
  });

  test('two thousand Services get one Event each, a bounded number at a time', async () => {
    await put(...Array.from({ length: 2_000 }, (_, index) => ({ name: `shop/web-${index}` })));
    await pass(30_000);
    const perCheck: number[] = [];
    for (let checks = 0; checks < 30; checks++) {
      const before = events.length;
      await pass(check);
      perCheck.push(events.length - before);
    }
    expect(Math.max(...perCheck)).toBe(limits.unclaimedReports);
    expect(new Set(names()).size).toBe(2_000);
    expect(events).toHaveLength(2_000);
    expect(Math.max(...warned.map(({ fields }) => (fields['services'] as string[]).length))).toBe(limits.unclaimedNames);
  });
});
