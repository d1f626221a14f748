import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Route } from '../../../../src/bgp/route.ts';
import { AdjRibOut } from '../../../../src/bgp/rib/adj-rib-out.ts';
import { ReplacementRunner } from '../../../../src/bgp/rib/replace-routes.ts';
import { RibStore } from '../../../../src/bgp/rib/rib-store.ts';
import { SharedRoutes } from '../../../../src/bgp/rib/shared-routes.ts';
import { formatPrefix, prefix, type Prefix } from '../../../../src/net/prefix.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { formatFor, Receiver } from './receiver.ts';
import { runs } from '../../../../test/support/property.ts';

const route = (host: number, med: number): Route => ({ prefix: prefix(`192.0.2.${host}/32`), med });
const at = (host: number): Prefix => route(host, 0).prefix;

/** The MEDs that a new session of the peer is told, by prefix. */
function meds(rib: AdjRibOut): Record<string, number | undefined> {
  rib.reset();
  new Receiver().drain(rib, formatFor());
  return Object.fromEntries([...rib.advertisedPrefixes(4, 0)].map(({ prefix, set }) => [formatPrefix(prefix), set.med]));
}

function set(shared: SharedRoutes, routes: readonly Route[]): void {
  for (const _ of shared.replaceGradually(routes)) continue;
}

function emptyStore(store: RibStore): boolean {
  return store.tables[4].size + store.tables[6].size + store.sets.size + store.groups.size === 0;
}

test('shared routes reach every peer, also a peer added later', () => {
  const store = new RibStore();
  const shared = new SharedRoutes(store);
  const first = new AdjRibOut(store);
  shared.announce(route(1, 10));
  const later = new AdjRibOut(store);
  shared.announce(route(2, 20));
  shared.withdraw(at(1));
  expect([meds(first), meds(later)]).toEqual([{ '192.0.2.2/32': 20 }, { '192.0.2.2/32': 20 }]);
  first.close();
  later.close();
  shared.withdraw(at(2));
  expect(emptyStore(store)).toBe(true);
});

test('a shared route that was withdrawn before a peer got its first own route is withdrawn from that peer', () => {
  const store = new RibStore();
  const shared = new SharedRoutes(store);
  const rib = new AdjRibOut(store);
  const receiver = new Receiver();
  shared.announce(route(1, 10));
  receiver.drain(rib, formatFor());
  shared.withdraw(at(1));
  rib.announce(route(2, 20));
  expect([...rib.advertisedPrefixes(4, 0)].map(({ prefix }) => formatPrefix(prefix))).toEqual(['192.0.2.1/32']);
  receiver.drain(rib, formatFor());
  expect([...receiver.table.keys()]).toEqual(['192.0.2.2/32']);
  rib.close();
  expect(emptyStore(store)).toBe(true);
});

test("a peer's own route overrides the shared route, which returns when the own route is withdrawn", () => {
  const store = new RibStore();
  const shared = new SharedRoutes(store);
  const rib = new AdjRibOut(store);
  rib.announce(route(1, 1));
  set(shared, [route(1, 10), route(2, 20)]);
  expect(meds(rib)).toEqual({ '192.0.2.1/32': 1, '192.0.2.2/32': 20 });
  rib.withdraw(at(1));
  expect(meds(rib)).toEqual({ '192.0.2.1/32': 10, '192.0.2.2/32': 20 });
  rib.withdraw(at(1));
  expect(meds(rib)).toEqual({ '192.0.2.1/32': 10, '192.0.2.2/32': 20 });
});

test('a shared route that no session can carry is hidden by an own route', () => {
  const store = new RibStore();
  const shared = new SharedRoutes(store);
  const [rib, other] = [new AdjRibOut(store), new AdjRibOut(store)];
  rib.announce(route(1, 1));
  set(shared, [{ ...route(1, 10), asPathPrepend: 99 }]);
  expect([rib.notPossibleCount(undefined), other.notPossibleCount(undefined)]).toEqual([0, 1]);
  rib.withdraw(at(1));
  expect(rib.notPossibleCount(undefined)).toBe(1);
});

test('shared routes are complete after set(), not after announce()', () => {
  const shared = new SharedRoutes(new RibStore());
  shared.announce(route(1, 1));
  expect(shared.complete).toBe(false);
  set(shared, []);
  expect(shared.complete).toBe(true);
});

const host = fc.nat(5);
const routes = fc.array(fc.tuple(host, fc.nat(3)), { maxLength: 6 }).map((pairs) => pairs.map(([host, med]) => route(host, med)));

test('a peer has its own routes, and the shared ones for other prefixes, after any sequence', () => {
  const who = fc.constantFrom('shared', 'first', 'second');
  const step = fc.oneof(
    fc.record({ who, what: fc.constant('set'), routes }),
    fc.record({ who, what: fc.constant('announce'), routes: fc.tuple(host, fc.nat(3)).map(([host, med]) => [route(host, med)]) }),
    fc.record({ who, what: fc.constant('withdraw'), routes: host.map((host) => [route(host, 0)]) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.nat(40), (steps, joins) => {
      const store = new RibStore();
      const shared = new SharedRoutes(store);
      const ribs: Record<string, AdjRibOut> = { first: new AdjRibOut(store) };
      const models: Record<string, Record<string, number | undefined>> = { shared: {}, first: {}, second: {} };
      for (const [index, { who, what, routes }] of steps.entries()) {
        if (index === joins) ribs['second'] = new AdjRibOut(store);
        const target = who === 'shared' ? shared : ribs[who];
        const model = models[who];
        if (target === undefined || model === undefined) continue;
        if (what === 'set') {
          for (const _ of target.replaceGradually(routes)) continue;
          for (const key of Object.keys(model)) delete model[key];
        }
        if (what === 'announce') for (const route of routes) target.announce(route);
        if (what === 'withdraw') for (const { prefix } of routes) target.withdraw(prefix);
        for (const { prefix, med } of routes) {
          if (what === 'withdraw') delete model[formatPrefix(prefix)];
          else model[formatPrefix(prefix)] = med;
        }
      }
      const second = (ribs['second'] ??= new AdjRibOut(store));
      const first = ribs['first'] ?? second;
      expect(meds(first)).toEqual({ ...models['shared'], ...models['first'] });
      expect(meds(second)).toEqual({ ...models['shared'], ...models['second'] });
      first.close();
      second.close();
      set(shared, []);
      expect(emptyStore(store)).toBe(true);
    }),
  );
});

test('routes that are set in parts give way to every change made meanwhile', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('set' as const), routes }),
    fc.record({ do: fc.constant('go on' as const) }),
    fc.record({ do: fc.constant('announce' as const), host, med: fc.nat(3) }),
    fc.record({ do: fc.constant('withdraw' as const), host }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const store = new RibStore();
      const shared = new SharedRoutes(store);
      const rib = new AdjRibOut(store);
      const clock = new VirtualClock();
      const runner = new ReplacementRunner(clock);
      const receiver = new Receiver();
      const model = new Map<string, number | undefined>();
      for (const each of steps) {
        if (each.do === 'set') {
          runner.run(shared.replaceGradually(each.routes, 2), () => {});
          model.clear();
          for (const { prefix, med } of each.routes) model.set(formatPrefix(prefix), med);
        } else if (each.do === 'announce') {
          shared.announce(route(each.host, each.med));
          model.set(formatPrefix(at(each.host)), each.med);
        } else if (each.do === 'withdraw') {
          shared.withdraw(at(each.host));
          model.delete(formatPrefix(at(each.host)));
        } else {
          clock.advance(0);
          receiver.drain(rib, formatFor(), 1);
        }
      }
      for (let turn = 0; turn < 20; turn++) clock.advance(1);
      receiver.drain(rib);
      expect(meds(rib)).toEqual(Object.fromEntries(model));
      expect(receiver.table.size).toBe(model.size);
      rib.close();
      set(shared, []);
      expect(emptyStore(store)).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});
