import { describe, expect, test } from 'vitest';
import { advertisedRoute } from '../../../../src/bgp/rib/advertised-route.ts';
import { AdjRibOut } from '../../../../src/bgp/rib/adj-rib-out.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';
import { host, formatFor, Receiver } from './receiver.ts';

const format = formatFor();

function listedRoutes(rib: AdjRibOut): string[] {
  return [...rib.advertisedPrefixes(4, 0)].map((sent) => {
    const { prefix, med, isChanging } = advertisedRoute(sent, format);
    return `${formatPrefix(prefix)} med ${med}${isChanging ? ' changing' : ''}`;
  });
}

const text = (n: number): string => formatPrefix(host(n));

describe('advertised routes of a peer', () => {
  test('a route is listed after it was sent, not when it is desired', () => {
    const rib = new AdjRibOut();
    rib.announce({ prefix: host(1), med: 5 });
    expect(listedRoutes(rib)).toEqual([]);
    new Receiver().drain(rib);
    expect(listedRoutes(rib)).toEqual([`${text(1)} med 5`]);
  });

  test('a route keeps its sent attributes until its change or withdrawal is sent', () => {
    const rib = new AdjRibOut();
    const receiver = new Receiver();
    rib.replaceRoutes([
      { prefix: host(1), med: 1 },
      { prefix: host(2), med: 2 },
      { prefix: host(3), med: 3 },
    ]);
    receiver.drain(rib);
    rib.announce({ prefix: host(2), med: 20 });
    rib.withdraw(host(3));
    expect(listedRoutes(rib)).toEqual([`${text(1)} med 1`, `${text(2)} med 2 changing`, `${text(3)} med 3 changing`]);
    receiver.drain(rib);
    expect(listedRoutes(rib)).toEqual([`${text(1)} med 1`, `${text(2)} med 20`]);
    expect(listedRoutes(rib)).toHaveLength(receiver.table.size);
  });

  test('an advertised route is found by its prefix, and listing can start at a slot', () => {
    const rib = new AdjRibOut();
    rib.replaceRoutes([1, 2, 3].map((n) => ({ prefix: host(n), med: n })));
    new Receiver().drain(rib);
    expect(rib.advertisedPrefix(host(2))?.set.med).toBe(2);
    expect(rib.advertisedPrefix(host(9))).toBeUndefined();
    const [first] = rib.advertisedPrefixes(4, 0);
    expect([...rib.advertisedPrefixes(4, (first?.slot ?? 0) + 1)].map(({ set }) => set.med)).toEqual([2, 3]);
  });

  test('no route is listed after the session reset', () => {
    const rib = new AdjRibOut();
    rib.announce({ prefix: host(1) });
    new Receiver().drain(rib);
    rib.reset();
    expect(listedRoutes(rib)).toEqual([]);
  });
});
