import { describe, expect, test } from 'vitest';
import { DrainingFrontends } from '../../../../src/agent/reconcile/draining-frontends.ts';
import { address } from '../../../../src/net/address.ts';
import { frontendKey, type Frontend } from '../../../../src/net/frontend.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

function frontend(text: string, port: number, policy: Frontend['policy'] = 'Cluster'): Frontend {
  return {
    match: { kind: 'address', address: address(text), protocol: 'TCP', port },
    scope: 'external',
    policy,
    backends: [],
    localBackends: [],
  };
}

const all = (): boolean => true;

describe('draining', () => {
  test('a frontend stays for its drain time, then the Service is requeued', () => {
    const clock = new VirtualClock();
    const expired: string[] = [];
    const drain = new DrainingFrontends(clock, (service) => expired.push(service));
    drain.startDrain('a/a', [frontend('192.0.2.1', 80)], 10);
    const keys = (): string[] =>
      drain.mergeInto('a/a', { frontends: [frontend('192.0.2.2', 80)] }, all).frontends.map(({ match }) => frontendKey(match));
    clock.advance(9_999);
    expect(keys()).toEqual(['192.0.2.1 TCP 80', '192.0.2.2 TCP 80']);
    expect(expired).toEqual([]);
    clock.advance(1);
    expect(expired).toEqual(['a/a']);
    expect(keys()).toEqual(['192.0.2.2 TCP 80']);
  });

  test('a frontend that returns has its new form', () => {
    const drain = new DrainingFrontends(new VirtualClock(), () => undefined);
    drain.startDrain('a/a', [frontend('192.0.2.1', 80, 'Cluster')], 10);
    const { frontends } = drain.mergeInto('a/a', { frontends: [frontend('192.0.2.1', 80, 'Local')] }, all);
    expect(frontends.map(({ policy }) => policy)).toEqual(['Local']);
  });

  test('a frontend without external backends keeps its old form, with the backends that live', () => {
    const drain = new DrainingFrontends(new VirtualClock(), () => undefined);
    const [one, two] = ['10.1.0.1', '10.1.0.2'].map((text) => ({ address: address(text), port: 8080, local: false }));
    if (one === undefined || two === undefined) throw new RangeError('two');
    const cluster: Frontend = { ...frontend('192.0.2.1', 80), backends: [one, two] };
    const local: Frontend = { ...cluster, policy: 'Local' };
    drain.startDrain('a/a', [cluster], 10);
    expect(drain.mergeInto('a/a', { frontends: [local] }, (backend) => backend === two).frontends).toEqual([
      { ...cluster, backends: [two] },
    ]);
    expect(drain.mergeInto('a/a', { frontends: [local] }, () => false).frontends).toEqual([local]);
    const withOne: Frontend = { ...local, localBackends: [one] };
    expect(drain.mergeInto('a/a', { frontends: [withOne] }, all).frontends).toEqual([withOne]);
  });

  test('a frontend that drains later has its own time and does not prolong that of others', () => {
    const clock = new VirtualClock();
    const expired: number[] = [];
    const drain = new DrainingFrontends(clock, () => expired.push(clock.now()));
    const keys = (): string[] => drain.mergeInto('a/a', { frontends: [] }, all).frontends.map(({ match }) => frontendKey(match));
    drain.startDrain('a/a', [frontend('192.0.2.1', 80)], 10);
    clock.advance(9_000);
    drain.startDrain('a/a', [frontend('192.0.2.1', 443)], 10);
    clock.advance(1_000);
    expect(keys()).toEqual(['192.0.2.1 TCP 443']);
    clock.advance(9_000);
    expect(keys()).toEqual([]);
    expect(expired).toEqual([10_000, 19_000]);
  });

  test('a frontend that returned and drains again has its whole time', () => {
    const clock = new VirtualClock();
    const drain = new DrainingFrontends(clock, () => undefined);
    drain.startDrain('a/a', [frontend('192.0.2.1', 80)], 10);
    clock.advance(9_000);
    drain.startDrain('a/a', [frontend('192.0.2.1', 80)], 10);
    clock.advance(9_000);
    expect(drain.mergeInto('a/a', { frontends: [] }, all).frontends).toHaveLength(1);
    drain.stop();
    expect(clock.pending).toBe(0);
  });

  test("a frontend that two Services drain stays for each one's time, and ends for both when a third has it", () => {
    const clock = new VirtualClock();
    const expired: string[] = [];
    const drain = new DrainingFrontends(clock, (service) => expired.push(service));
    const both = (): number[] =>
      ['a/a', 'a/b'].map((service) => drain.mergeInto(service as 'a/a', { frontends: [] }, all).frontends.length);
    drain.startDrain('a/a', [frontend('192.0.2.1', 80)], 10);
    clock.advance(5_000);
    drain.startDrain('a/b', [frontend('192.0.2.1', 80)], 10);
    expect(both()).toEqual([1, 1]);
    clock.advance(5_000);
    expect([both(), expired]).toEqual([[0, 1], ['a/a']]);
    drain.startDrain('a/a', [frontend('192.0.2.1', 80)], 10);
    expect([...drain.cancelDrainsOf('a/c', { frontends: [frontend('192.0.2.1', 80)] })].toSorted()).toEqual(['a/a', 'a/b']);
    expect(both()).toEqual([0, 0]);
  });

  test('a backend that ended is removed', () => {
    const drain = new DrainingFrontends(new VirtualClock(), () => undefined);
    const backends = [1, 2].map((n) => ({ address: address(`10.244.0.${n}`), port: 8080, local: n === 1 }));
    drain.startDrain('a/a', [{ ...frontend('192.0.2.1', 80, 'Local'), backends, localBackends: backends.slice(0, 1) }], 10);
    const [left] = drain.mergeInto('a/a', { frontends: [] }, ({ local }) => !local).frontends;
    expect(left).toMatchObject({ backends: [{ local: false }], localBackends: [] });
  });

  test('a frontend that another Service has by now ends at once, the others keep draining', () => {
    const clock = new VirtualClock();
    const drain = new DrainingFrontends(clock, () => undefined);
    drain.startDrain('a/old', [frontend('192.0.2.1', 80), frontend('192.0.2.1', 443)], 10);
    expect([...drain.cancelDrainsOf('a/old', { frontends: [frontend('192.0.2.1', 80)] })]).toEqual([]);
    expect([...drain.cancelDrainsOf('a/new', { frontends: [frontend('192.0.2.1', 80), frontend('192.0.2.9', 80)] })]).toEqual(['a/old']);
    const left = drain.mergeInto('a/old', { frontends: [] }, all).frontends.map(({ match }) => frontendKey(match));
    expect(left).toEqual(['192.0.2.1 TCP 443']);
    expect([...drain.cancelDrainsOf('a/new', { frontends: [frontend('192.0.2.1', 80)] })]).toEqual([]);
    clock.advance(10_000);
    expect([...drain.cancelDrainsOf('a/new', { frontends: [frontend('192.0.2.1', 443)] })]).toEqual([]);
  });
});
