import { afterEach, describe, expect, test } from 'vitest';
import { limits } from '../../../../src/controller/limits.ts';
import { Random } from '../../../fuzz/random.ts';
import { pool } from '../../decisions/fixtures.ts';
import { TwoControllers } from './two-controllers.ts';

let world: TwoControllers;

afterEach(() => world.stopHerald());

const assigned = 'herald.dev/AddressAssigned True Assigned';
const services = ['shop/a', 'shop/b', 'shop/c'];

/** Creates Services and lets MetalLB assign their addresses; then MetalLB may stop. */
async function begun({ runs }: { readonly runs: boolean }): Promise<Record<string, string | undefined>> {
  world = new TwoControllers();
  // In another order than the one in which Herald would assign them.
  for (const key of ['shop/c', 'shop/a', 'shop/b']) world.create(key);
  await world.quiet();
  world.metallbRuns = runs;
  const given = world.addresses();
  expect(new Set(Object.values(given)).size).toBe(3);
  return given;
}

describe.each([true, false])('addresses that MetalLB assigned, while its controller runs: %s', (runs) => {
  test('addresses stay when Herald starts with compat', async () => {
    const given = await begun({ runs });
    const writes = world.metallb.writes;
    world.compat('metallb');
    await world.startHerald();
    world.create('shop/new');
    await world.quiet();
    expect(world.addresses()).toMatchObject(given);
    for (const key of services) expect(world.conditions(key)).toContain(assigned);
    expect(Object.values(given)).not.toContain(world.address('shop/new'));
    expect(world.address('shop/new')).toBeDefined();
    expect(world.metallb.writes - writes).toBeLessThanOrEqual(1);
  });

  test('addresses stay when compat is turned on, off and on again', async () => {
    const given = await begun({ runs });
    await world.startHerald();
    await world.quiet();
    expect(world.server.writes).toEqual([]);
    for (let round = 0; round < 3; round++) {
      world.compat('metallb');
      await world.quiet();
      expect(world.addresses()).toEqual(given);
      for (const key of services) expect(world.conditions(key)).toContain(assigned);
      world.compat('none');
      await world.quiet();
      expect(world.addresses()).toEqual(given);
      // Herald leaves no condition that another controller could misread.
      for (const key of services) expect(world.conditions(key)).toEqual([]);
    }
  });

  test("addresses stay when compat is turned off while Herald's controller is stopped", async () => {
    const given = await begun({ runs });
    world.compat('metallb');
    await world.startHerald();
    await world.quiet();
    await world.stopHerald();
    world.compat('none');
    await world.startHerald();
    await world.quiet();
    expect(world.addresses()).toEqual(given);
    for (const key of services) expect(world.conditions(key)).toEqual([]);
  });
});

describe('Services of another controller', () => {
  test('MetalLB changes the Service as its owner asks, and Herald writes nothing', async () => {
    await begun({ runs: true });
    world.compat('metallb');
    await world.startHerald();
    await world.quiet();
    world.compat('none');
    await world.quiet();
    const writes = world.server.writes.length;
    world.annotate('shop/a', { 'metallb.io/loadBalancerIPs': '192.0.2.8' });
    await world.quiet();
    expect(world.address('shop/a')).toBe('192.0.2.8');
    expect(world.server.writes).toHaveLength(writes);
    world.compat('metallb');
    await world.quiet();
    expect(world.address('shop/a')).toBe('192.0.2.8');
    expect(world.conditions('shop/a')).toContain(assigned);
  });

  test('Herald gives their address to no other Service while their status shows it', async () => {
    world = new TwoControllers(2);
    await world.startHerald();
    world.create('shop/theirs');
    await world.quiet();
    expect(world.address('shop/theirs')).toBe('192.0.2.1');
    // A Service of Herald's class beside it; both programs have the same pool.
    world.create('shop/ours', { loadBalancerClass: 'herald.dev/herald' });
    world.create('shop/waits', { loadBalancerClass: 'herald.dev/herald' });
    await world.quiet();
    expect(world.addresses()).toEqual({ 'shop/theirs': '192.0.2.1', 'shop/ours': '192.0.2.2', 'shop/waits': undefined });
    // An address that MetalLB removes is free, whichever program wrote it.
    world.metallb.pool = [];
    world.metallb.see('shop/theirs', world.server.objects.get('shop/theirs'));
    await world.quiet();
    expect(world.addresses()).toEqual({ 'shop/theirs': undefined, 'shop/ours': '192.0.2.2', 'shop/waits': '192.0.2.1' });
  });
});

test.each([
  ['another address', [{ ip: '192.0.2.9' }]],
  ['a name only', [{ hostname: 'lb.example.net' }]],
])('an address that another controller released for %s goes to a waiting Service', async (_, ingress) => {
  world = new TwoControllers(1);
  await world.startHerald();
  world.create('shop/theirs');
  await world.quiet();
  world.create('shop/waits', { loadBalancerClass: 'herald.dev/herald' });
  await world.quiet();
  expect(world.addresses()).toEqual({ 'shop/theirs': '192.0.2.1', 'shop/waits': undefined });
  world.metallbRuns = false;
  const { uid } = world.server.objects.get('shop/theirs')?.metadata ?? {};
  world.server.put('shop/theirs', { status: { loadBalancer: { ingress } } }, String(uid));
  await world.quiet();
  expect(world.address('shop/waits')).toBe('192.0.2.1');
});

test('a hostname load balancer is kept when HeraldConfig gives its Service to another class', async () => {
  world = new TwoControllers();
  world.metallbRuns = false;
  world.compat('metallb');
  await world.startHerald();
  world.create('shop/a');
  await world.quiet();
  const { uid } = world.server.objects.get('shop/a')?.metadata ?? {};
  world.server.put('shop/a', { status: { loadBalancer: { ingress: [{ hostname: 'lb.example.net' }] } } }, String(uid));
  world.compat('none');
  await world.quiet();
  expect(world.released).toEqual([]);
  world.server.put('shop/a', { status: { loadBalancer: {} } }, String(uid));
  await world.quiet();
  expect(world.released).toContain('shop/a');
});

describe('a Service that both controllers see', () => {
  test('the Service keeps the address that MetalLB wrote first, even if Herald would choose another', async () => {
    world = new TwoControllers();
    world.metallb.pool = world.metallb.pool.toReversed();
    world.compat('metallb');
    await world.startHerald();
    world.create('shop/a');
    world.tellMetalLB();
    // Herald decides before it sees MetalLB's write, so its own write is refused.
    world.tellHerald();
    await world.breathe();
    expect(world.server.conflicts).toBeGreaterThan(0);
    await world.quiet();
    expect(world.address('shop/a')).toBe('192.0.2.8');
    expect(world.conditions('shop/a')).toContain(assigned);
    expect(world.metallb.writes).toBe(1);
  });

  test('the Service loses an address from MetalLB that Herald gave to another Service', async () => {
    world = new TwoControllers();
    world.compat('metallb');
    await world.startHerald();
    world.create('shop/a');
    world.tellHerald();
    await world.breathe();
    expect(world.address('shop/a')).toBe('192.0.2.1');
    // MetalLB saw neither change; it gives the later Service the same address and stops.
    world.create('shop/b');
    world.metallb.see('shop/b', world.server.objects.get('shop/b'));
    expect(world.address('shop/b')).toBe('192.0.2.1');
    world.metallbRuns = false;
    await world.quiet();
    expect(world.addresses()).toEqual({ 'shop/a': '192.0.2.1', 'shop/b': '192.0.2.2' });
  });

  test('a late watch is not counted as an overwrite', async () => {
    world = new TwoControllers();
    world.metallbRuns = false;
    world.compat('metallb');
    await world.startHerald();
    world.create('shop/a');
    world.tellHerald();
    await world.breathe();
    for (let look = 0; look < 5; look++) {
      world.source.put(pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.8'], labels: { look: String(look) } }));
      await world.breathe();
    }
    expect(world.server.writes).toHaveLength(1);
    await world.quiet();
    expect(world.conditions('shop/a')).toContain(assigned);
  });
});

describe('two controllers that disagree', () => {
  async function disagreeing(): Promise<void> {
    world = new TwoControllers();
    world.metallbRuns = false;
    world.compat('metallb');
    await world.startHerald();
    world.create('shop/a');
    await world.quiet();
    expect(world.address('shop/a')).toBe('192.0.2.1');
  }

  test('Herald yields after a few overwrites, reports it, and gives the address to no other Service', async () => {
    await disagreeing();
    world.metallb.pool = ['192.0.2.2', '192.0.2.3'];
    world.metallbRuns = true;
    await world.quiet();
    expect(world.address('shop/a')).toBe('192.0.2.2');
    expect(world.conditions('shop/a')).toContain('herald.dev/AddressAssigned False StatusContested');
    expect(world.metallb.writes).toBe(limits.overwrites);
    world.metallbRuns = false;
    world.create('shop/b');
    world.create('shop/c');
    await world.quiet();
    expect([world.address('shop/b'), world.address('shop/c')]).toEqual(['192.0.2.1', '192.0.2.3']);
  });

  test('Herald owns the address that it took over when the other controller was quiet long enough', async () => {
    await disagreeing();
    world.metallb.pool = ['192.0.2.2'];
    world.metallbRuns = true;
    await world.quiet();
    world.metallbRuns = false;
    await world.wait(limits.competingWriterMilliseconds + limits.reportWatchMilliseconds);
    await world.quiet();
    expect(world.address('shop/a')).toBe('192.0.2.2');
    expect(world.conditions('shop/a')).toContain(assigned);
  });

  test('an address that the other controller removes is kept, and written again after a quiet time', async () => {
    await disagreeing();
    world.metallb.pool = [];
    world.metallbRuns = true;
    await world.quiet();
    expect(world.address('shop/a')).toBeUndefined();
    expect(world.conditions('shop/a')).toContain('herald.dev/AddressAssigned False StatusContested');
    world.metallbRuns = false;
    world.create('shop/b');
    await world.quiet();
    expect(world.address('shop/b')).toBe('192.0.2.2');
    await world.wait(limits.competingWriterMilliseconds + limits.reportWatchMilliseconds);
    await world.quiet();
    expect(world.address('shop/a')).toBe('192.0.2.1');
  });

  test('a change of HeraldConfig ends the disagreement at once', async () => {
    await disagreeing();
    world.metallb.pool = [];
    world.metallbRuns = true;
    await world.quiet();
    world.metallbRuns = false;
    world.compat('metallb');
    world.source.put({ ...world.source.store.config, drainSeconds: 11 });
    await world.quiet();
    expect(world.address('shop/a')).toBe('192.0.2.1');
  });

  test('a single overwrite is reverted', async () => {
    await disagreeing();
    const object = world.server.objects.get('shop/a');
    world.server.put(
      'shop/a',
      { status: { loadBalancer: { ingress: [{ ip: '203.0.113.9' }] } }, metadata: object?.metadata },
      String(object?.metadata['uid']),
    );
    await world.quiet();
    expect(world.address('shop/a')).toBe('192.0.2.1');
    expect(world.conditions('shop/a')).toContain(assigned);
  });
});

test.each(Array.from({ length: 30 }, (_, seed) => seed))(
  'no address is assigned twice and both become quiet, in any order of events (seed %i)',
  async (seed) => {
    const dice = new Random(seed);
    world = new TwoControllers(12);
    world.compat('metallb');
    await world.startHerald();
    for (let step = 0; step < 120; step++) {
      const name = `shop/s${dice.below(8)}`;
      const choice = dice.below(10);
      if (choice === 0 && !world.server.objects.has(name)) world.create(name);
      else if (choice === 1) world.server.remove(name);
      else if (choice < 6) world.tellHerald();
      else world.tellMetalLB();
      if (dice.below(2) === 0) await world.breathe(dice.below(300));
    }
    await world.quiet();
    const given = Object.values(world.addresses());
    expect(given).not.toContain(undefined);
    expect(new Set(given).size).toBe(given.length);
    const before = [world.server.writes.length, world.metallb.writes, world.addresses()];
    await world.quiet();
    expect([world.server.writes.length, world.metallb.writes, world.addresses()]).toEqual(before);
  },
);
