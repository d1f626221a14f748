import { expect, test } from 'vitest';
import { liveAddresses, liveLinks } from '../../../../src/agent/live/live-l2.ts';
import type { AddressStatus, L2Status } from '../../../../src/l2/index.ts';
import { LiveQuery } from '../../../../src/live/query.ts';
import { Counters } from '../../../../src/l2/counters.ts';

const since = new Date('2026-01-01T12:00:00Z');
const held = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];

const statusOf = (address: string): AddressStatus => ({
  address,
  interface: 'eth0',
  state: 'owner',
  since,
  cause: 'heardBetter',
  claims: 1,
  requests: 2,
  answers: 1,
  answersPerMinute: 1,
  lastAnswer: { at: since, mac: '02:00:00:00:00:99' },
});

/** Notes which addresses the thread is asked for. */
function announcer() {
  const asked: (readonly string[] | undefined)[] = [];
  const status = (addresses: readonly string[] = held): Promise<L2Status> => {
    asked.push(addresses);
    const peers = [
      {
        node: 'n2',
        mac: '02:00:00:00:00:02',
        session: 'Up',
        sessionSince: since,
        verdict: 'unknown',
        watched: true,
        standing: 'in',
        answersWithoutSession: false,
      },
    ] as const;
    const groups = { joined: 0, waiting: 0 };
    const link = { interface: 'eth0', mac: '02:00:00:00:00:01', settled: true, isolated: false, noPeerLiveness: false, peers, groups };
    return Promise.resolve({ links: [link], addresses: addresses.map(statusOf), counters: new Counters(), suspended: false });
  };
  const entries = () => held.map((address) => ({ address, interface: 'eth0', candidates: [] }));
  return { asked, l2: { status, entries, addressesOf: () => ['192.0.2.2'] } };
}

const query = (text: string): LiveQuery => new LiveQuery(new URLSearchParams(text), ['service']);

test('a page of addresses asks the thread only for the addresses of the page', async () => {
  const { asked, l2 } = announcer();
  const first = await liveAddresses(l2, query('limit=2'));
  const second = await liveAddresses(l2, query(`limit=2&after=${encodeURIComponent(first.next ?? '')}`));
  expect(asked).toEqual([['192.0.2.1', '192.0.2.2'], ['192.0.2.3']]);
  expect([...first.items, ...second.items].map(({ address }) => address)).toEqual(held);
  expect(second.next).toBeUndefined();
});

test('the addresses of a Service are found, with causes in words and times as text', async () => {
  const { l2 } = announcer();
  expect((await liveAddresses(l2, query('service=shop/web'))).items).toEqual([
    {
      address: '192.0.2.2',
      interface: 'eth0',
      state: 'owner',
      since: since.toISOString(),
      cause: 'a better placed node announced the address',
      claims: 1,
      requests: 2,
      answers: 1,
      answersPerMinute: 1,
      lastAnswer: { at: since.toISOString(), linkAddress: '02:00:00:00:00:99' },
    },
  ]);
});

test('the links are listed with the liveness of each other node, without asking for addresses', async () => {
  const { asked, l2 } = announcer();
  const { items } = await liveLinks(l2, query(''));
  expect(items).toMatchObject([
    {
      interface: 'eth0',
      linkAddress: '02:00:00:00:00:01',
      peers: [{ node: 'n2', session: 'Up', sessionSince: since.toISOString(), standing: 'in' }],
    },
  ]);
  expect(asked).toEqual([[]]);
});
