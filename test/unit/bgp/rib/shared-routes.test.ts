import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Route } from '../../../../src/bgp/route.ts';
import { PeerRouteSet, SharedRoutes, type DesiredRoutes } from '../../../../src/bgp/rib/shared-routes.ts';
import { formatPrefix, prefix, type Prefix } from '../../../../src/net/prefix.ts';

/** A plain implementation of the RIB contract that counts its calls. */
class Table implements DesiredRoutes {
  readonly routes = new Map<string, Route>();
  calls = 0;

  replaceRoutes(routes: Iterable<Route>): void {
    this.calls++;
    this.routes.clear();
    for (const route of routes) this.routes.set(formatPrefix(route.prefix), route);
  }

  announce(route: Route): void {
    this.calls++;
    this.routes.set(formatPrefix(route.prefix), route);
  }

  withdraw(prefix: Prefix): void {
    this.calls++;
    this.routes.delete(formatPrefix(prefix));
  }

  desires(prefix: Prefix): boolean {
    return this.routes.has(formatPrefix(prefix));
  }

  meds(): Record<string, number | undefined> {
    return Object.fromEntries([...this.routes].map(([key, { med }]) => [key, med]));
  }
}

const route = (host: number, med: number): Route => ({ prefix: prefix(`192.0.2.${host}/32`), med });
const at = (host: number): Prefix => route(host, 0).prefix;

test('shared routes reach every peer, also a peer added later', () => {
  const shared = new SharedRoutes();
  const [first, later] = [new Table(), new Table()];
  const peer = new PeerRouteSet(shared, first, () => {});
  shared.announce(route(1, 10));
  const added = new PeerRouteSet(shared, later, () => {});
  shared.announce(route(2, 20));
  shared.withdraw(at(1));
  expect(first.meds()).toEqual({ '192.0.2.2/32': 20 });
  expect(later.meds()).toEqual({ '192.0.2.2/32': 20 });
  peer.close();
  added.close();
  shared.announce(route(3, 30));
  expect(first.routes.size).toBe(1);
});

test("a peer's own route overrides the shared route, which returns when the own route is withdrawn", () => {
  const shared = new SharedRoutes();
  const table = new Table();
  const peer = new PeerRouteSet(shared, table, () => {});
  peer.announce(route(1, 1));
  shared.replaceRoutes([route(1, 10), route(2, 20)]);
  expect(table.meds()).toEqual({ '192.0.2.1/32': 1, '192.0.2.2/32': 20 });
  peer.withdraw(at(1));
  expect(table.meds()).toEqual({ '192.0.2.1/32': 10, '192.0.2.2/32': 20 });
  peer.withdraw(at(1));
  expect(table.meds()).toEqual({ '192.0.2.1/32': 10, '192.0.2.2/32': 20 });
});

test('own routes reach the RIB once each', () => {
  const table = new Table();
  const peer = new PeerRouteSet(new SharedRoutes(), table, () => {});
  peer.replaceRoutes([route(1, 1), route(2, 2)]);
  peer.announce(route(3, 3));
  peer.withdraw(at(1));
  expect(table.calls).toBe(3);
  expect(table.meds()).toEqual({ '192.0.2.2/32': 2, '192.0.2.3/32': 3 });
});

test('shared routes are complete after set(), not after announce()', () => {
  const shared = new SharedRoutes();
  shared.announce(route(1, 1));
  expect(shared.complete).toBe(false);
  shared.replaceRoutes([]);
  expect(shared.complete).toBe(true);
  expect([...shared.routes()]).toEqual([]);
});

test('a peer has its own routes, and the shared ones for other prefixes, after any sequence', () => {
  const host = fc.nat(5);
  const routes = fc.array(fc.tuple(host, fc.nat(3)), { maxLength: 6 }).map((pairs) => pairs.map(([host, med]) => route(host, med)));
  const who = fc.constantFrom('shared', 'first', 'second');
  const step = fc.oneof(
    fc.record({ who, what: fc.constant('set'), routes }),
    fc.record({ who, what: fc.constant('announce'), routes: fc.tuple(host, fc.nat(3)).map(([host, med]) => [route(host, med)]) }),
    fc.record({ who, what: fc.constant('withdraw'), routes: host.map((host) => [route(host, 0)]) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.nat(40), (steps, joins) => {
      const shared = new SharedRoutes();
      const tables = { first: new Table(), second: new Table() };
      const targets: Record<string, Pick<DesiredRoutes, 'announce' | 'withdraw'> & { replaceRoutes(routes: readonly Route[]): void }> = {
        shared,
        first: new PeerRouteSet(shared, tables.first, () => {}),
      };
      const models: Record<string, Table> = { shared: new Table(), first: new Table(), second: new Table() };
      for (const [index, { who, what, routes }] of steps.entries()) {
        if (index === joins) targets['second'] = new PeerRouteSet(shared, tables.second, () => {});
        for (const target of [targets[who], targets[who] === undefined ? undefined : models[who]]) {
          if (what === 'set') target?.replaceRoutes(routes);
          if (what === 'announce') for (const route of routes) target?.announce(route);
          if (what === 'withdraw') for (const { prefix } of routes) target?.withdraw(prefix);
        }
      }
      targets['second'] ??= new PeerRouteSet(shared, tables.second, () => {});
      const everywhere = models['shared']?.meds();
      expect(tables.first.meds()).toEqual({ ...everywhere, ...models['first']?.meds() });
      expect(tables.second.meds()).toEqual({ ...everywhere, ...models['second']?.meds() });
    }),
  );
});
