import { expect, test } from 'vitest';
import { formatMac } from '../../../../src/l2/wire/mac.ts';
import { clientMac, SegmentBed } from '../segment-bed.ts';

const addresses = ['192.0.2.10', '192.0.2.11'];
/** The first node is the best candidate for both. */
const bed = (): SegmentBed => {
  const made = new SegmentBed({ nodes: 2, addresses, ranks: () => [0, 1] });
  made.clock.advance(1000);
  return made;
};

test('the status has the last answer with the host that asked, and the answers of the last minute', () => {
  const made = bed();
  made.ask('192.0.2.10');
  made.clock.advance(100);
  const [status] = made.node(0).engine.status(new Set(['192.0.2.10'])).addresses;
  expect(status).toMatchObject({ state: 'owner', answersPerMinute: 1, lastAnswer: { mac: formatMac(clientMac) } });
});

test('a probe of another node is answered, but is no sign that clients reach the node', () => {
  const made = bed();
  made.clock.advance(10_000);
  const [status] = made.node(0).engine.status().addresses;
  expect(status?.answers).toBeGreaterThan(0);
  expect(status).not.toHaveProperty('lastAnswer');
  expect(status?.answersPerMinute).toBe(0);
});

test('the status lists only the addresses that are asked for, and all links', () => {
  const { engine } = bed().node(0);
  expect(engine.status(new Set(['192.0.2.11', '192.0.2.99'])).addresses.map(({ address }) => address)).toEqual(['192.0.2.11']);
  expect(engine.status(new Set()).addresses).toEqual([]);
  expect(engine.status(new Set()).links).toHaveLength(1);
  expect(engine.status().addresses).toHaveLength(2);
});

test('the status says since when a session is in its state', () => {
  const made = bed();
  made.node(0).kill();
  made.clock.advance(1000);
  const killed = made.clock.date().getTime();
  made.clock.advance(5000);
  const [peer] = made.node(1).engine.status().links[0]?.peers ?? [];
  expect(peer).toMatchObject({ node: 'n0', session: 'Down', standing: 'out' });
  expect(killed - (peer?.sessionSince?.getTime() ?? 0)).toBeGreaterThan(500);
  expect(killed - (peer?.sessionSince?.getTime() ?? 0)).toBeLessThanOrEqual(1000);
});

test('the event of a claim names the node that had the address before, and the state of its session', () => {
  const made = bed();
  made.node(0).kill();
  made.clock.advance(1000);
  expect(made.node(1).events.filter((event) => event.kind === 'changed')).toMatchObject([
    { address: '192.0.2.10', to: 'owner', cause: 'elected', previous: { node: 'n0', session: 'Down' } },
    { address: '192.0.2.11', to: 'owner', cause: 'elected', previous: { node: 'n0', session: 'Down' } },
  ]);
});
