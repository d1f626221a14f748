import { beforeEach, describe, expect, test } from 'vitest';
import { AgentHistory } from '../../../../src/agent/live/agent-history.ts';
import { History } from '../../../../src/live/history.ts';
import type { HistoryEntry } from '../../../../src/live/contract.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { address } from '../../../../src/net/address.ts';
import type { ServiceForwarding } from '../../../../src/net/frontend.ts';
import { systemClock, type Clock } from '../../../../src/system/clock.ts';
import { advertisement, config, matching, metadata, node, peer, pool, slice } from '../../decisions/fixtures.ts';
import { basics, testbed, web, type Testbed } from '../testbed.ts';

describe('the history of a commit with many Services', () => {
  const empty: ServiceForwarding = { frontends: [] };
  const names = Array.from({ length: 30 }, (_, index) => `default/s${index}` as const);
  const forwarding = (index: number): ServiceForwarding => ({
    frontends: [
      {
        match: { kind: 'address', address: address(`172.30.0.${index + 1}`), protocol: 'TCP', port: 80 },
        scope: 'internal',
        policy: 'Cluster',
        backends: [],
        localBackends: [],
      },
    ],
  });

  test('other work runs in between, and a Service that is planned meanwhile waits for the next commit', async () => {
    let now = 0;
    // Each look at the time takes a millisecond, so that a turn is over after some Services.
    const clock: Clock = { ...systemClock, now: () => now++ };
    const history = new History(clock);
    const agent = new AgentHistory(history, clock, 'n1');
    for (const [index, name] of names.entries()) agent.servicePlanned(name, { before: empty, after: forwarding(index) });
    const recorded = (): string[] => history.entries().map(({ name, what }) => `${name} ${what}`);
    const first = agent.forwardingCommitted([], new Map());
    const inBetween = recorded().length;
    expect(inBetween).toBeGreaterThan(0);
    expect(inBetween).toBeLessThan(names.length);
    agent.servicePlanned('default/later', { before: empty, after: forwarding(100) });
    agent.servicePlanned('default/s29', { before: forwarding(29), after: empty });
    await first;
    const all = names.map((name) => `${name} Programmed`);
    expect(recorded()).toEqual(all);
    await agent.forwardingCommitted([], new Map());
    expect(recorded()).toEqual([...all, 'default/later Programmed', 'default/s29 Removed']);
  });
});

let bed: Testbed;
let history: History;

async function begin(...objects: HeraldObject[]): Promise<void> {
  bed = testbed([...basics, ...objects], { history: (clock) => (history = new History(clock)) });
  await bed.agent.start();
  await bed.settle();
}

const of = (name: string): HistoryEntry[] => history.entries({ kind: 'Service', name: `default/${name}` });
const brief = (entries: readonly HistoryEntry[]): string[] =>
  entries.map(({ what, text, reason }) => `${what}: ${text}${reason ? ` (${reason.code})` : ''}`);

/** A changed version of the object, as a source would have it. */
function newer<T extends HeraldObject>(object: T, resourceVersion: string): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

describe('the history of an agent', () => {
  beforeEach(() => begin(...web('web', ['192.0.2.1', '2001:db8:1::1'])));

  test('the first entries are the rules and routes of the start, in this order, without causes', () => {
    expect(brief(of('web'))).toEqual([
      'Programmed: 2 frontends, 2 endpoints',
      'Announced: announced 192.0.2.1/32, 2001:db8:1::1/128 to tor1',
    ]);
    expect(of('web').flatMap(({ causes }) => causes ?? [])).toEqual([]);
    expect(of('web')[1]?.routes).toEqual([
      { peer: 'tor1', prefix: '192.0.2.1/32' },
      { peer: 'tor1', prefix: '2001:db8:1::1/128' },
    ]);
  });

  test('a withdrawal names its reason, and the object and version that caused it', async () => {
    bed.source.put(newer(advertisement({ name: 'all', ipAddressPools: ['other'] }), '77'));
    await bed.settle();
    expect(of('web').at(-1)).toMatchObject({
      what: 'Withdrawn',
      reason: { code: expect.stringMatching(/./), message: expect.stringMatching(/./) },
      causes: [{ kind: 'BGPAdvertisement', name: 'all', resourceVersion: '77' }],
    });
  });

  test('a deleted Service has entries for its withdrawal and removal', async () => {
    bed.source.remove(web('web', [])[0] as HeraldObject);
    await bed.settle();
    await bed.advance(120_000);
    const withdrawn = of('web').find(({ what }) => what === 'Withdrawn');
    expect(withdrawn?.causes).toEqual([{ kind: 'Service', name: 'default/web', deleted: true }]);
    expect(of('web').some(({ what }) => what === 'Removed')).toBe(true);
  });

  test('changed endpoints are programmed, and nothing is announced again', async () => {
    const [, slice4] = web('web', ['192.0.2.1', '2001:db8:1::1']) as [HeraldObject, HeraldObject & { kind: 'EndpointSlice' }];
    const {
      endpoints: [one],
    } = slice4;
    if (one === undefined) throw new Error('the fixture has no endpoint');
    bed.source.put(newer({ ...slice4, endpoints: [one, { ...one, address: { ...one.address, value: one.address.value + 1n } }] }, '5'));
    await bed.settle();
    expect(brief(of('web')).slice(2)).toEqual(['Programmed: 2 frontends, 3 endpoints (1 new, 0 gone; before: 2 frontends, 2 endpoints)']);
    expect(of('web').at(-1)?.causes).toEqual([{ kind: 'EndpointSlice', name: 'default/web-4', resourceVersion: '5' }]);
  });

  test('changed attributes are a change, not a withdrawal', async () => {
    bed.source.put(newer(advertisement({ name: 'all', localPref: 200 }), '9'));
    await bed.settle();
    expect(brief(of('web')).slice(2)).toEqual([expect.stringMatching(/^Changed: .*localPref 200.*192\.0\.2\.1\/32/)]);
  });

  test('a change without effect adds no entry, whichever object it was', async () => {
    const before = history.entries().length;
    bed.source.put(newer(peer({ name: 'tor1', dualStackAddressFamily: true, holdTimeSeconds: 30 }), '3'));
    for (const object of web('web', ['192.0.2.1', '2001:db8:1::1'])) bed.source.put(newer(object, '4'));
    await bed.settle();
    expect(history.entries()).toHaveLength(before);
  });

  test('a cause is named once, not again by later entries', async () => {
    bed.source.put(newer(advertisement({ name: 'all', localPref: 200 }), '9'));
    await bed.settle();
    const [service] = web('web', ['192.0.2.1']);
    bed.source.put(newer(service as HeraldObject, '10'));
    await bed.settle();
    expect(of('web').at(-1)).toMatchObject({ causes: [{ kind: 'Service', name: 'default/web', resourceVersion: '10' }] });
    expect(of('web').at(-1)?.causes).toHaveLength(1);
  });
});

describe('the causes of an entry', () => {
  const namespace = (name: string): HeraldObject => ({ kind: 'Namespace', metadata: metadata(name) });
  const inPool = (name: string, more: object = {}): HeraldObject => advertisement({ name, ipAddressPools: ['other'], ...more });

  beforeEach(() => begin(...web('web', ['192.0.2.1']), inPool('other'), node({ name: 'n2' })));

  const causesOfWithdrawal = (): string[] => {
    const withdrawn = of('web').findLast(({ what }) => what === 'Withdrawn');
    return (withdrawn?.causes ?? []).map(({ kind, name }) => `${kind} ${name}`);
  };

  test('are the objects on which the decision rests, and not others that changed at the same time', async () => {
    bed.source.atOnce(() => {
      bed.source.put(newer(advertisement({ name: 'all', ipAddressPools: ['other'] }), '7'));
      bed.source.put(
        namespace('zz'),
        inPool('other', { localPref: 7 }),
        peer({ name: 'tor9', peerAddress: '10.0.0.9', nodeSelectors: [matching({ role: 'other' })] }),
        pool({ name: 'other', addresses: ['198.51.100.0/24'] }),
        node({ name: 'n2', labels: { changed: 'yes' } }),
      );
    });
    await bed.settle();
    expect(causesOfWithdrawal()).toEqual(['BGPAdvertisement all']);
  });

  test.each<[string, HeraldObject[]]>([
    ['Node n1', [node({ name: 'n1', internalIPs: ['10.0.0.1', 'fd00::1'], networkUnavailable: true })]],
    ['EndpointSlice default/web-4', [slice({ service: 'web', name: 'web-4', endpoints: [] })]],
    ['BGPPeer tor1', [peer({ name: 'tor1', nodeSelectors: [matching({ role: 'other' })] })]],
    ['IPAddressPool main', [pool({ name: 'main', addresses: ['203.0.113.0/24'] })]],
    ['HeraldConfig default', [config({ defaultClass: false })]],
  ])('name %s when it made the node withdraw', async (cause, objects) => {
    bed.source.put(namespace('aa'), ...objects.map((object) => newer(object, '8')));
    bed.source.put(namespace('zz'));
    await bed.settle();
    expect(causesOfWithdrawal()).toEqual([cause]);
  });

  test('of a session are its BGPPeer and the Node only', async () => {
    bed.source.put(newer(peer({ name: 'tor1', nodeSelectors: [matching({ role: 'other' })] }), '8'), inPool('other', { localPref: 7 }));
    await bed.settle();
    const [down] = history.entries({ kind: 'BGPPeer', name: 'tor1' }).toReversed();
    expect(down?.causes?.map(({ kind }) => kind)).toEqual(['BGPPeer']);
  });
});

describe('the history of a drained node', () => {
  const ofNode = (): HistoryEntry[] => history.entries({ kind: 'Node', name: 'n1' });
  const drained = (drain?: 'force' | 'keepLast'): HeraldObject =>
    newer(node({ name: 'n1', internalIPs: ['10.0.0.1', 'fd00::1'], ...(drain === undefined ? {} : { drain }) }), '4');

  beforeEach(() => begin(...web('web', ['192.0.2.1', '2001:db8:1::1']), ...web('tea', ['192.0.2.2'])));

  test('has the phases of the drain and its withdrawals, with the object that began it', async () => {
    bed.connections.left = 3;
    bed.source.put(drained('force'));
    await bed.settle();
    await bed.advance(10_000);
    await bed.advance(5000);
    bed.connections.left = 0;
    await bed.advance(5000);
    bed.source.put(drained());
    await bed.settle();
    expect(brief(ofNode())).toEqual([
      'Draining: drains: its routes are the last resort of routers before they are withdrawn',
      'Withdrawn: 3 routes of 2 Services withdrawn by the drain: 192.0.2.1/32, 2001:db8:1::1/128, 192.0.2.2/32 to tor1',
      'Withdrawn: no route is left',
      'Drained: no connection is open any more',
      'DrainEnded: the drain has ended: the node announces again',
    ]);
    expect(ofNode()[0]?.causes).toEqual([{ kind: 'Node', name: 'n1', resourceVersion: '4' }]);
    expect(ofNode()[1]?.routes).toHaveLength(3);
  });

  test('says how many Services keep their routes', async () => {
    bed.source.put(drained('keepLast'));
    await bed.settle();
    await bed.advance(10_000);
    await bed.advance(5000);
    expect(brief(ofNode()).slice(1)).toEqual(['Settled: 2 Services keep their routes, because no other node announces them']);
  });
});
