import { describe, expect, test } from 'vitest';
import { l2DecisionsOf } from '../../../../src/decisions/l2/decisions-of.ts';
import { unansweredAddresses } from '../../../../src/decisions/l2/local-pools.ts';
import { NodeViews } from '../../../../src/decisions/verdict/node-views.ts';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import { address } from '../../../../src/net/address.ts';
import { cluster, matching, type ClusterLiteral } from '../fixtures.ts';

/** Three nodes in one network, whose pool is announced by BGP, and one node in another network. */
const names = ['n1', 'n2', 'n3', 'far'];
const lan = { eth0: ['192.0.2.0/24', '2001:db8::/64'] };
const vips = ['192.0.2.100', '2001:db8::100'].map(address);
const basics: ClusterLiteral = {
  config: { answerOnLocalLinks: true },
  services: [{ name: 'web', ipFamilies: [4, 6], assigned: ['192.0.2.100', '2001:db8::100'] }],
  slices: [
    { service: 'web', name: 'web-4', endpoints: ['10.1.0.1@n1', '10.1.0.2@n2', '10.1.0.3@n3'] },
    { service: 'web', name: 'web-6', endpoints: ['fd10::1@n1', 'fd10::2@n2', 'fd10::3@n3'] },
  ],
  pools: [{ name: 'near', addresses: ['192.0.2.100-192.0.2.120', '2001:db8::100/120'] }],
  advertisements: [{ name: 'routers' }],
  peers: [{ name: 'tor', dualStackAddressFamily: true }],
  nodes: names.map((name) => ({ name, labels: { name } })),
  links: { n1: lan, n2: lan, n3: lan, far: { eth0: ['198.51.100.0/24'] } },
};

/** The candidates for each address, sorted, or the code of the reason. */
function candidates(more: ClusterLiteral = {}): readonly string[] {
  const decisions = l2DecisionsOf(cluster({ ...basics, ...more }));
  return vips.map((vip) => {
    const decision = decisions?.decide(vip);
    if (decision === undefined) return 'none';
    if ('reason' in decision) return decision.reason.code;
    return decision.candidates
      .map(({ node, links }) => `${node} ${links.map(({ name }) => name).join()}`)
      .toSorted()
      .join(', ');
  });
}

const all = 'n1 eth0, n2 eth0, n3 eth0';
const onlyN2 = [matching({ name: 'n2' })];

describe('answerOnLocalLinks', () => {
  test.each<[what: string, more: ClusterLiteral, found: string]>([
    ['every node with a link to the address stands ready', {}, all],
    ['nobody does without the field', { config: {} }, 'none'],
    ['only nodes of the BGPAdvertisement do', { advertisements: [{ name: 'routers', nodeSelectors: onlyN2 }] }, 'n2 eth0'],
    ['only nodes with a peer do', { peers: [{ name: 'tor', nodeSelectors: onlyN2 }] }, 'n2 eth0'],
    [
      'only nodes with a peer of the BGPAdvertisement do',
      { peers: [{ name: 'tor' }, { name: 'other', nodeSelectors: onlyN2 }], advertisements: [{ name: 'routers', peers: ['other'] }] },
      'n2 eth0',
    ],
    ['no node does without a peer', { peers: [] }, 'L2NoCandidate'],
    ['a BGPAdvertisement of another pool changes nothing', { advertisements: [{ name: 'a', ipAddressPools: ['b'] }] }, 'NoAdvertisement'],
    ['nor one of external IPs', { advertisements: [{ name: 'a', addressTypes: ['ExternalIP'] }] }, 'NoAdvertisement'],
    ['nor one of other Services', { advertisements: [{ name: 'a', serviceSelectors: onlyN2 }] }, 'ServiceNotSelected'],
    ['an address outside of every link has no part', { links: { far: { eth0: ['198.51.100.0/24'] } } }, 'NoAdvertisement'],
    ['an L2Advertisement decides alone', { l2Advertisements: [{ name: 'own', nodeSelectors: onlyN2 }] }, 'n2 eth0'],
    ['one for another pool does not', { l2Advertisements: [{ name: 'own', ipAddressPools: ['b'], nodeSelectors: onlyN2 }] }, all],
    ['one for other Services does not', { l2Advertisements: [{ name: 'own', serviceSelectors: onlyN2, nodeSelectors: onlyN2 }] }, all],
    [
      'a drained node stands back',
      { nodes: names.map((name) => (name === 'n1' ? { name, drain: 'force' as const } : { name })) },
      'n2 eth0, n3 eth0',
    ],
  ])('%s', (_, more, found) => {
    expect(candidates(more)).toEqual([found, found]);
  });

  test('under policy Local only nodes with an endpoint stand ready', () => {
    const [web] = basics.services ?? [];
    const services = web === undefined ? [] : [{ ...web, externalTrafficPolicy: 'Local' as const }];
    const slices = (basics.slices ?? []).map((slice) => ({ ...slice, endpoints: [slice.endpoints?.[1] ?? ''] }));
    expect(candidates({ services, slices })).toEqual(['n2 eth0', 'n2 eth0']);
  });

  test('a node without a link to the address has no view of answering, and those with one name the BGPAdvertisement', () => {
    const snapshot = cluster({
      ...basics,
      advertisements: [
        { name: 'routers', nodeSelectors: onlyN2 },
        { name: 'far', nodeSelectors: [matching({ name: 'far' })] },
      ],
    });
    const [web] = snapshot.services.values();
    if (web === undefined) throw new RangeError('there is a Service');
    const views = new NodeViews(snapshot, web, 0);
    const l2Of = (node: string): unknown[] => views.of(node).addresses.flatMap(({ type, l2 }) => (type === 'LoadBalancer' ? [l2] : []));
    expect(l2Of('far')).toEqual([undefined, undefined]);
    const [first] = views.of('n1').addresses.flatMap(({ l2 }) => l2?.reason ?? []);
    expect(first && reasonText(first)).toContain('BGPAdvertisements far, routers');
  });
});

describe('without answerOnLocalLinks', () => {
  const unanswered = (more: ClusterLiteral): readonly string[] => {
    const snapshot = cluster({ ...basics, config: {}, ...more });
    return [...snapshot.services.values()].flatMap((service) => unansweredAddresses(snapshot, service).map(remedyText));
  };

  test('both remedies are recommended for each family', () => {
    const texts = unanswered({});
    expect(texts).toHaveLength(2);
    for (const text of texts) {
      expect(text).toContain('create an L2Advertisement with spec.ipAddressPools: [near]');
      expect(text).toContain('answerOnLocalLinks: true');
    }
  });

  test.each<[string, ClusterLiteral]>([
    ['the field is set', { config: { answerOnLocalLinks: true } }],
    ['an L2Advertisement has the pool', { l2Advertisements: [{ name: 'own', ipAddressPools: ['near'] }] }],
    ['no link has the network', { links: { far: { eth0: ['198.51.100.0/24'] } } }],
    ['the network is that of pods', { config: { podInterfaces: ['eth*'] } }],
    ['no BGPAdvertisement has the pool', { advertisements: [] }],
  ])('nothing is recommended when %s', (_, more) => {
    expect(unanswered(more)).toEqual([]);
  });
});
