import { describe, expect, test } from 'vitest';
import { routesPassingBarrier, type ServicePlan } from '../../../../src/agent/reconcile/service-plan.ts';
import { prefix } from '../../../../src/net/prefix.ts';

const plan: ServicePlan = {
  forwarding: { frontends: [] },
  foreignFrontends: [],
  routes: ['tor1', 'tor2'].map((peer) => ({
    peer,
    route: { prefix: prefix('192.0.2.1/32'), communities: [], asPathPrepend: 0, aggregate: false },
    address: '192.0.2.1',
    needs: ['192.0.2.1 TCP 443', '192.0.2.1 TCP 80'],
    needsForeign: [],
  })),
};

const nowhere = (): boolean => false;

describe('the commit barrier', () => {
  test('lets routes pass whose frontends the kernel has', () => {
    const { routes, held } = routesPassingBarrier('a/a', plan, new Map(), nowhere);
    expect([...routes.keys()]).toEqual(['tor1', 'tor2']);
    expect(held).toEqual([]);
  });

  test('a port that the kernel refused does not take the address from the other ports', () => {
    const { routes, held } = routesPassingBarrier('a/a', plan, new Map([['192.0.2.1 TCP 443', {}]]), nowhere);
    expect([...routes.keys()]).toEqual(['tor1', 'tor2']);
    expect(held).toEqual([]);
  });

  test('holds a route back when the kernel has none of its frontends, and says why once', () => {
    const missing = new Map([
      ['192.0.2.1 TCP 443', {}],
      ['192.0.2.1 TCP 80', {}],
    ]);
    const { routes, held } = routesPassingBarrier('a/a', plan, missing, nowhere);
    expect(routes.size).toBe(0);
    expect(held).toEqual([{ code: 'NotProgrammed', details: { frontend: '192.0.2.1 TCP 443' } }]);
  });

  test('an address that nothing on this node answers is not announced', () => {
    const unanswered = { ...plan, routes: plan.routes.map((route) => ({ ...route, needs: [], needsForeign: [] })) };
    expect(routesPassingBarrier('a/a', unanswered, new Map(), nowhere).routes.size).toBe(0);
  });

  test('what another program must have passes when that has one port of it', () => {
    const left = { ...plan, routes: plan.routes.map(({ needs, ...route }) => ({ ...route, needs: [], needsForeign: needs })) };
    expect(routesPassingBarrier('a/a', left, new Map(), nowhere)).toEqual({
      routes: new Map(),
      held: [{ code: 'AwaitsForwarding', details: { frontend: '192.0.2.1 TCP 443' } }],
    });
    const { routes, held } = routesPassingBarrier('a/a', left, new Map(), (frontend) => frontend === '192.0.2.1 TCP 80');
    expect([...routes.keys()]).toEqual(['tor1', 'tor2']);
    expect(held).toEqual([]);
  });
});
