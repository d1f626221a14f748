import { describe, expect, test } from 'vitest';
import { routesPassingBarrier, type ServicePlan } from '../../../../src/agent/reconcile/service-plan.ts';
import { prefix } from '../../../../src/net/prefix.ts';

const plan: ServicePlan = {
  forwarding: { frontends: [] },
  foreignFrontends: [],
  l2: [],
  routes: ['tor1', 'tor2'].map((peer) => ({
    peer,
    route: { prefix: prefix('192.0.2.1/32'), communities: [], asPathPrepend: 0, aggregate: false },
    address: '192.0.2.1',
    needs: ['192.0.2.1 TCP 443', '192.0.2.1 TCP 80'],
    needsForeign: [],
  })),
};

const noForeign = (): boolean => false;

describe('the commit barrier', () => {
  test('a route passes when the kernel has its frontends', () => {
    const { routes, held } = routesPassingBarrier('a/a', plan, new Map(), noForeign);
    expect([...routes.keys()]).toEqual(['tor1', 'tor2']);
    expect(held).toEqual([]);
  });

  test('a route passes when the kernel refused only some frontends of its address', () => {
    const { routes, held } = routesPassingBarrier('a/a', plan, new Map([['192.0.2.1 TCP 443', {}]]), noForeign);
    expect([...routes.keys()]).toEqual(['tor1', 'tor2']);
    expect(held).toEqual([]);
  });

  test('a route is held back, with one reason, when the kernel has none of its frontends', () => {
    const missing = new Map([
      ['192.0.2.1 TCP 443', {}],
      ['192.0.2.1 TCP 80', {}],
    ]);
    const { routes, held } = routesPassingBarrier('a/a', plan, missing, noForeign);
    expect(routes.size).toBe(0);
    expect(held).toEqual([{ code: 'NotProgrammed', details: { frontend: '192.0.2.1 TCP 443' } }]);
  });

  test('a route is not announced when neither Herald nor another program forwards its address', () => {
    const unanswered = { ...plan, routes: plan.routes.map((route) => ({ ...route, needs: [], needsForeign: [] })) };
    expect(routesPassingBarrier('a/a', unanswered, new Map(), noForeign).routes.size).toBe(0);
  });

  test('a route to foreign frontends passes when another program forwards at least one of them', () => {
    const left = { ...plan, routes: plan.routes.map(({ needs, ...route }) => ({ ...route, needs: [], needsForeign: needs })) };
    expect(routesPassingBarrier('a/a', left, new Map(), noForeign)).toEqual({
      routes: new Map(),
      l2: [],
      held: [{ code: 'AwaitsForwarding', details: { frontend: '192.0.2.1 TCP 443' } }],
    });
    const { routes, held } = routesPassingBarrier('a/a', left, new Map(), (frontend) => frontend === '192.0.2.1 TCP 80');
    expect([...routes.keys()]).toEqual(['tor1', 'tor2']);
    expect(held).toEqual([]);
  });
});
