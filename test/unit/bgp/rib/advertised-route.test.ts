import { describe, expect, test } from 'vitest';
import { advertisedRoute } from '../../../../src/bgp/rib/advertised-route.ts';
import { RibOut } from '../../../../src/bgp/rib/adj-rib-out.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';
import { host, outboundFor, Receiver } from './receiver.ts';

const outbound = outboundFor();

function told(rib: RibOut): string[] {
  return [...rib.sentPrefixes(4, 0)].map((sent) => {
    const { prefix, med, isChanging } = advertisedRoute(sent, outbound);
    return `${formatPrefix(prefix)} med ${med}${isChanging ? ' changing' : ''}`;
  });
}

const text = (n: number): string => formatPrefix(host(n));

describe('what a peer was sent', () => {
  test('is nothing before it is sent, whatever is desired', () => {
    const rib = new RibOut();
    rib.announce({ prefix: host(1), med: 5 });
    expect(told(rib)).toEqual([]);
    new Receiver().drain(rib);
    expect(told(rib)).toEqual([`${text(1)} med 5`]);
  });

  test('stays as it was sent until the next form of it, or its withdrawal, is sent', () => {
    const rib = new RibOut();
    const receiver = new Receiver();
    rib.set([
      { prefix: host(1), med: 1 },
      { prefix: host(2), med: 2 },
      { prefix: host(3), med: 3 },
    ]);
    receiver.drain(rib);
    rib.announce({ prefix: host(2), med: 20 });
    rib.withdraw(host(3));
    expect(told(rib)).toEqual([`${text(1)} med 1`, `${text(2)} med 2 changing`, `${text(3)} med 3 changing`]);
    receiver.drain(rib);
    expect(told(rib)).toEqual([`${text(1)} med 1`, `${text(2)} med 20`]);
    expect(told(rib)).toHaveLength(receiver.table.size);
  });

  test('is found by its prefix, and from a position on', () => {
    const rib = new RibOut();
    rib.set([1, 2, 3].map((n) => ({ prefix: host(n), med: n })));
    new Receiver().drain(rib);
    expect(rib.sentPrefix(host(2))?.set.med).toBe(2);
    expect(rib.sentPrefix(host(9))).toBeUndefined();
    const [first] = rib.sentPrefixes(4, 0);
    expect([...rib.sentPrefixes(4, (first?.slot ?? 0) + 1)].map(({ set }) => set.med)).toEqual([2, 3]);
  });

  test('is nothing when the session is gone', () => {
    const rib = new RibOut();
    rib.announce({ prefix: host(1) });
    new Receiver().drain(rib);
    rib.reset();
    expect(told(rib)).toEqual([]);
  });
});
