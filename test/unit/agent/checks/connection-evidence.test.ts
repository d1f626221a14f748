import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerKey } from '../../../../src/agent/checks/client-ways.ts';
import { CheckedFrontends } from '../../../../src/agent/checks/checked-frontends.ts';
import { checksReport } from '../../../../src/agent/checks/checks-report.ts';
import { ConnectionEvidence } from '../../../../src/agent/checks/connection-evidence.ts';
import { defined } from '../../../../src/lang/defined.ts';
import { limits } from '../../../../src/agent/limits.ts';
import { planService, type ServicePlan } from '../../../../src/agent/reconcile/service-plan.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { reasonText, type Reason } from '../../../../src/model/reasons.ts';
import { address } from '../../../../src/net/address.ts';
import type { NoWay } from '../../../../src/net/endpoint-way.ts';
import { frontendKey } from '../../../../src/net/frontend.ts';
import { connectionOutcomes, type ObservedConnection } from '../../../../src/net/observed-connection.ts';
import { node, service, slice } from '../../decisions/fixtures.ts';
import { runs } from '../../../support/property.ts';
import { TestSource } from '../../test-source.ts';

const minute = 60_000;

/** The evidence of node n1 about these objects. */
function bed(...objects: HeraldObject[]) {
  const source = new TestSource(node({ name: 'n1' }), node({ name: 'n2' }), ...objects);
  const plans = new Map<ServiceKey, ServicePlan>();
  const plan = (): void => {
    plans.clear();
    for (const key of source.snapshot.services.keys()) plans.set(key, planService(source.snapshot, key, 'n1').plan);
  };
  plan();
  const frontend = (key: string) => {
    for (const [owner, { forwarding }] of plans) {
      const found = forwarding.frontends.find(({ match }) => frontendKey(match) === key);
      if (found !== undefined) return { service: owner, frontend: found };
    }
    return undefined;
  };
  const frontends = new CheckedFrontends({ dataplane: { frontend }, plans: { byService: plans }, snapshot: () => source.snapshot });
  const evidence = new ConnectionEvidence(frontends);
  /** Judges after a look that has just begun. */
  const say = (now: number): string[] =>
    checksReport('n1', 'passive', undefined, evidence.judge({ began: now, share: 1 }, now)).failing.map(
      ({ service: of, family, port, areAll, reason }) => `${of} ${family} ${port} ${areAll ? 'all' : 'some'}: ${reasonText(reason)}`,
    );
  return { source, plan, evidence, say };
}

const web = (more: Parameters<typeof service>[0] = { name: 'web' }): HeraldObject =>
  service({ clusterIPs: ['10.96.0.1'], assigned: ['192.0.2.1'], ports: ['http:80/TCP@30080'], ...more });
const pods = (...endpoints: string[]): HeraldObject => slice({ service: 'web', ports: ['http:8080'], endpoints });

let ids = 0;
const seen = (outcome: ObservedConnection['outcome'], at: number, more: Partial<ObservedConnection> = {}): ObservedConnection => ({
  destination: address('192.0.2.1'),
  protocol: 'TCP',
  port: 80,
  endpoint: address('10.1.0.1'),
  endpointPort: 8080,
  id: ++ids,
  outcome,
  at,
  ...more,
});

const refuses = 'default/web IPv4 80/TCP all: connections to 10.1.0.1:8080 are refused';
const silent = 'default/web IPv4 80/TCP all: connections to 10.1.0.1:8080 get no answer';

describe('an endpoint', () => {
  test('fails when two connections failed, and not when one did', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    const first = seen('refused', 1_000);
    evidence.take([first, first], 1_000);
    expect(say(2_000)).toEqual([]);
    evidence.take([seen('refused', 2_000)], 2_000);
    expect(say(2_000)).toEqual([refuses]);
  });

  test('is behind a filter when connections were dropped, unless they were refused since: the kernel has no entry of either', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    evidence.take([seen('refused', 5_000), seen('refused', 5_001), seen('dropped', 4_000), seen('dropped', 4_001)], 6_000);
    expect(say(6_000)).toEqual([refuses]);
    evidence.take([seen('dropped', 7_000), seen('dropped', 7_001)], 9_000);
    expect(say(9_000)).toEqual([refuses.replace('refused', 'dropped or rejected by a filter of the node that passes them on')]);
    expect(evidence.isAnswered(seen('dropped', 0), 9_000)).toBe(false);
    evidence.take([seen('answered', 10_000)], 11_000);
    expect(say(11_000)).toEqual([]);
    expect(evidence.isAnswered(seen('dropped', 0), 11_000)).toBe(true);
    expect(evidence.isAnswered(seen('dropped', 0, { endpoint: address('10.1.0.9') }), 11_000)).toBe(false);
  });

  test('fails only after a look that began later, which would have seen answers', () => {
    const { evidence } = bed(web(), pods('10.1.0.1'));
    evidence.take([seen('silent', 1_000), seen('silent', 1_100)], 4_000);
    expect(evidence.judge({ began: 3_900, share: 1 }, 5_000).failing).toEqual([]);
    expect(evidence.judge({ began: 4_000, share: 1 }, 5_000).failing).toMatchObject([{ kind: 'silent', endpoint: '10.1.0.1:8080' }]);
  });

  test('fails while connections keep failing, whenever the agent looks', () => {
    const { evidence } = bed(web(), pods('10.1.0.1'));
    for (let at = 0; at < 20_000; at += 500) evidence.take([seen('refused', at)], at);
    // The latest failures came after the look.
    expect(evidence.judge({ began: 10_000, share: 1 }, 20_000).failing).toHaveLength(1);
    evidence.take([seen('answered', 15_100)], 20_000);
    expect(evidence.judge({ began: 20_000, share: 1 }, 20_000).failing).toHaveLength(1);
    evidence.take([seen('answered', 19_500)], 20_000);
    expect(evidence.judge({ began: 20_000, share: 1 }, 20_000).failing).toEqual([]);
  });

  test('must be refused more often when a look sees a share of all connections, and be silent as often', () => {
    const { evidence } = bed(web(), pods('10.1.0.1'));
    const failing = (): number => evidence.judge({ began: 9_000, share: 0.25 }, 9_000).failing.length;
    for (let count = 0; count < 7; count++) evidence.take([seen('refused', 1_000 + count)], 2_000);
    expect(failing()).toBe(0);
    evidence.take([seen('refused', 2_000)], 2_000);
    expect(failing()).toBe(1);
    evidence.take([seen('answered', 3_000), seen('silent', 4_000)], 5_000);
    expect(failing()).toBe(0);
    evidence.take([seen('silent', 4_001)], 5_000);
    expect(failing()).toBe(1);
  });

  test('that answers the agent itself still fails for clients, and its frontend does not count as answered', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    evidence.take([seen('silent', 1_000), seen('silent', 2_000), seen('answered', 3_000, { own: true })], 4_000);
    expect(say(4_000)).toEqual([silent]);
    expect(evidence.judge({ began: 4_000, share: 1 }, 4_000).answered).toEqual([]);
  });

  test('is no longer failing by connections of the agent itself when one is answered', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    evidence.take([seen('silent', 1_000, { own: true }), seen('silent', 2_000, { own: true })], 2_000);
    expect(say(2_000)).toEqual([silent]);
    evidence.take([seen('answered', 3_000, { own: true })], 3_000);
    expect(say(3_000)).toEqual([]);
  });

  test('fails by the connections of one look', () => {
    const { evidence } = bed(web(), pods('10.1.0.1'));
    evidence.take([seen('silent', 1_000), seen('silent', 2_000)], 4_100, 4_000);
    expect(evidence.judge({ began: 4_000, share: 1 }, 4_100).failing).toHaveLength(1);
  });

  test('is no longer failing when a new connection was answered, whichever was seen first', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    evidence.take([seen('silent', 1_000), seen('silent', 2_000), seen('answered', 3_000)], 4_000);
    expect(say(4_000)).toEqual([]);
    evidence.take([seen('silent', 2_500), seen('silent', 3_500)], 5_000);
    expect(say(5_000)).toEqual([]);
    evidence.take([seen('silent', 3_600)], 6_000);
    expect(say(6_000)).toEqual([silent]);
  });

  test('still fails while old connections are used, because new ones are not answered', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    evidence.take([seen('silent', 1_000), seen('silent', 2_000), seen('used', 3_000)], 4_000);
    expect(say(4_000)).toEqual([silent]);
    expect(evidence.judge({ began: 4_000, share: 1 }, 4_000).answered).toEqual(['192.0.2.1 TCP 80']);
  });

  test('is answered by any frontend whose packets go the same way', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    evidence.take([seen('silent', 1_000), seen('silent', 2_000)], 4_000);
    evidence.take([seen('answered', 3_000, { destination: address('10.96.0.1') })], 4_000);
    expect(say(4_000)).toEqual([silent]);
    evidence.take([seen('answered', 3_000, { destination: address('10.0.0.7'), port: 30_080 })], 4_000);
    expect(say(4_000)).toEqual([]);
  });

  test('refuses rather than is silent when both were seen', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    evidence.take([seen('refused', 1_000), seen('silent', 2_000)], 4_000);
    expect(say(4_000)).toEqual([refuses]);
  });

  test('fails as it did lately: a cause of which nothing was seen for half a minute, while connections failed otherwise, is over', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    const dropped = refuses.replace('refused', 'dropped or rejected by a filter of the node that passes them on');
    evidence.take([seen('dropped', 1_000), seen('dropped', 1_001), seen('silent', 30_000)], 30_000);
    expect(say(30_000)).toEqual([dropped]);
    evidence.take([seen('silent', 31_500)], 32_000);
    expect(say(32_000)).toEqual([silent]);
    evidence.take([seen('refused', 40_000), seen('refused', 41_000), seen('unfinished', 80_000), seen('unfinished', 81_000)], 82_000);
    expect(say(82_000)[0]).toContain('10.1.0.1:8080 answer connections, and clients do not complete them');
    // Without another failure the last one is remembered.
    expect(say(10 * minute)[0]).toContain('10.1.0.1:8080 answer connections');
  });

  test('loses its answers only while the routes to both clients that did not go on say so', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    const unfinished = (at: number, client: string): ObservedConnection => seen('unfinished', at, { client: address(client) });
    const lost = { kind: 'elsewhere', clients: '10.9.0.0/24', interface: 'docker0', uplinks: ['eth0', 'eth1'] } as const;
    const doubt = [expect.stringContaining('80/TCP some: 10.1.0.1:8080 answer connections, and clients do not complete them')];
    evidence.take([unfinished(1_000, '10.9.0.66'), unfinished(1_001, '203.0.113.9')], 3_000);
    expect(evidence.unfinished(3_000).map(answerKey)).toEqual(['10.9.0.66 10.1.0.1', '203.0.113.9 10.1.0.1']);
    expect(say(3_000)).toEqual(doubt);
    evidence.setLostAnswers(new Map([['10.9.0.66 10.1.0.1', lost]]));
    expect(say(3_000)).toEqual(doubt);
    evidence.take([unfinished(4_000, '10.9.0.66')], 6_000);
    expect(say(6_000)).toEqual(doubt);
    evidence.take([unfinished(5_000, '10.9.0.66')], 7_000);
    expect(say(7_000)).toEqual([
      'default/web IPv4 80/TCP all: answers of 10.1.0.1:8080 do not reach clients in 10.9.0.0/24: the route 10.9.0.0/24 of the node leads out by docker0, and clients come by eth0 and eth1',
    ]);
    evidence.setLostAnswers(new Map());
    expect(say(7_000)).toEqual(doubt);
    evidence.take([seen('answered', 8_000)], 9_000);
    expect(say(9_000)).toEqual([]);
    expect(evidence.unfinished(9_000)).toEqual([]);
  });

  test('is not answered any more when its answers tell little of now', () => {
    const { evidence } = bed(web(), pods('10.1.0.1'));
    evidence.take([seen('answered', 5_000)], 5_000);
    const answered = (from: number): readonly string[] => evidence.judge({ began: 6_000, share: 1 }, 6_000, () => from).answered;
    expect([answered(5_000), evidence.counts('192.0.2.1 TCP 80')]).toEqual([['192.0.2.1 TCP 80'], true]);
    expect([answered(5_001), evidence.counts('192.0.2.1 TCP 80')]).toEqual([[], false]);
  });

  test('is forgotten ten minutes after the last failure, and not before', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    evidence.take([seen('refused', 0), seen('refused', minute)], minute);
    expect(say(11 * minute - 1)).toEqual([refuses]);
    expect(say(11 * minute)).toEqual([]);
    expect(evidence.size).toBe(0);
  });

  test('is forgotten when it leaves the Service', () => {
    const { source, plan, evidence, say } = bed(web(), pods('10.1.0.1'));
    evidence.take([seen('refused', 0), seen('refused', 1)], 1);
    source.put(pods('10.1.0.2'));
    plan();
    expect(say(2)).toEqual([]);
    expect(evidence.size).toBe(0);
  });

  test('without a way fails without connections, and for that reason first', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1', '10.1.0.2'));
    evidence.take([seen('silent', 1_000), seen('silent', 2_000)], 3_000);
    const way: NoWay = { kind: 'unroutable', route: 'unreachable 10.1.0.0/16' };
    evidence.setWays(new Map([['10.1.0.1', way]]));
    expect(say(4_000)).toEqual(['default/web IPv4 80/TCP some: there is no way to 10.1.0.1:8080: unreachable 10.1.0.0/16']);
    evidence.setWays(new Map(['10.1.0.1', '10.1.0.2'].map((one) => [one, way])));
    expect(say(4_000)).toEqual([
      'default/web IPv4 80/TCP all: there is no way to 10.1.0.1:8080 and 10.1.0.2:8080: unreachable 10.1.0.0/16',
    ]);
  });
});

test('all endpoints fail when those fail to which this node sends new connections', () => {
  const local = web({ name: 'web', externalTrafficPolicy: 'Local' });
  const endpoints = slice({ service: 'web', ports: ['http:8080'], endpoints: ['10.1.0.1@n1', '10.1.0.2@n2'] });
  const { evidence, say } = bed(local, endpoints);
  evidence.take([seen('refused', 1), seen('refused', 2)], 3);
  expect(say(3)).toEqual([refuses]);
});

test('connections to other destinations and other endpoints are ignored', () => {
  const { evidence } = bed(web(), pods('10.1.0.1'));
  evidence.take(
    [
      seen('answered', 1, { destination: address('198.51.100.1') }),
      seen('answered', 1, { port: 81 }),
      seen('answered', 1, { protocol: 'UDP' }),
      seen('answered', 1, { endpoint: address('10.1.0.9') }),
      seen('answered', 1, { endpointPort: 8081 }),
    ],
    1,
  );
  expect(evidence.size).toBe(0);
  expect(evidence.judge({ began: 1, share: 1 }, 1)).toEqual({ answered: [], failing: [] });
});

test('a frontend is answered for ten minutes, also when its endpoint has left, and NodePorts at any address', () => {
  const { source, plan, evidence } = bed(web(), pods('10.1.0.1'));
  evidence.take([seen('answered', 0), seen('used', minute, { destination: address('10.0.0.7'), port: 30_080 })], minute);
  source.put(pods('10.1.0.2'));
  plan();
  expect(evidence.judge({ began: minute, share: 1 }, minute).answered).toEqual(['192.0.2.1 TCP 80', 'NodePort IPv4 TCP 30080']);
  expect(evidence.judge({ began: 0, share: 1 }, 10 * minute).answered).toEqual(['NodePort IPv4 TCP 30080']);
  expect(evidence.judge({ began: 0, share: 1 }, 11 * minute).answered).toEqual([]);
});

test('an answer tells nothing of other clients, to whom alone the Service is open since', () => {
  const { source, plan, evidence } = bed(web(), pods('10.1.0.1'));
  const answered = (now: number) => evidence.judge({ began: now, share: 1 }, now).answered;
  evidence.take([seen('answered', 0)], 0);
  expect(answered(1)).toEqual(['192.0.2.1 TCP 80']);
  source.put(web({ name: 'web', sourceRanges: ['203.0.113.0/24'] }));
  plan();
  expect(answered(2)).toEqual([]);
  evidence.take([seen('answered', 3)], 3);
  expect(answered(3)).toEqual(['192.0.2.1 TCP 80']);
});

describe('a frontend at which connections stopped', () => {
  const frontends = ['192.0.2.1 TCP 80'];

  /** Evidence, and looks at `pause` milliseconds while one client connects each `distance` milliseconds to each of these endpoints. */
  function watched(pause: number, distance: number, endpoints: readonly string[] = ['10.1.0.1']) {
    const { evidence } = bed(web(), pods(...endpoints));
    let now = 0;
    let answeredUntil = Number.POSITIVE_INFINITY;
    /** As a look: the latest connection of each endpoint and kind, in the order of the table. */
    const look = (at: number): readonly string[] => {
      const before = now;
      now = at;
      const latest = Math.floor(Math.min(now, answeredUntil) / distance) * distance;
      const found = endpoints.flatMap((text, index) => {
        const endpoint = address(text);
        return [seen('answered', latest - index * 10, { endpoint }), seen('used', Math.min(latest, before), { endpoint })];
      });
      evidence.take(latest < 0 ? [] : found, now);
      return evidence.judge({ began: now, share: 1 }, now).answered;
    };
    const lookUntil = (end: number): void => {
      for (let at = now + pause; at <= end; at += pause) look(at);
    };
    const stop = (): void => void (answeredUntil = now);
    const goOn = (): void => void (answeredUntil = Number.POSITIVE_INFINITY);
    return { evidence, look, lookUntil, stop, goOn, now: () => now };
  }

  test.each([
    [10_000, ['10.1.0.1']],
    [30_000, ['10.1.0.1']],
    [30_000, ['10.1.0.1', '10.1.0.2', '10.1.0.3']],
    [60_000, ['10.1.0.3', '10.1.0.1']],
  ] as const)('is answered no longer after half a minute with looks %i ms apart and endpoints %j', (pause, endpoints) => {
    const { evidence, look, lookUntil, stop, now } = watched(pause, 250, endpoints);
    lookUntil(4 * minute);
    stop();
    const stopped = now();
    expect(look(stopped + 29_000)).toEqual(frontends);
    // A look that began earlier does not show it.
    expect(evidence.judge({ began: stopped + 29_000, share: 1 }, stopped + 60_000).answered).toEqual(frontends);
    look(now());
    expect(evidence.doubts).toEqual({ quietAt: stopped + limits.quietMilliseconds, areAwaited: false });
    expect(look(stopped + 31_000)).toEqual([]);
    expect(evidence.doubts).toEqual({ quietAt: Number.POSITIVE_INFINITY, areAwaited: true });
  });

  test('causes no doubt while answers are as old as usual', () => {
    const { evidence, lookUntil, now } = watched(10_000, 250);
    while (now() < 3 * minute) {
      lookUntil(now() + 10_000);
      expect(evidence.doubts).toEqual({ quietAt: Number.POSITIVE_INFINITY, areAwaited: false });
    }
  });

  test('is judged alike after an outage: that one was long does not make the next one usual', () => {
    const { look, lookUntil, stop, goOn, now } = watched(10_000, 250);
    lookUntil(3 * minute);
    for (let outages = 0; outages < 2; outages++) {
      stop();
      const stopped = now();
      lookUntil(stopped + 20_000);
      expect(look(stopped + 25_000)).toEqual(frontends);
      expect(look(stopped + 31_000)).toEqual([]);
      goOn();
      expect(look(stopped + 90_000)).toEqual(frontends);
      lookUntil(now() + 2 * minute);
      if (outages === 0) continue;
      // Now lulls of a minute are usual.
      stop();
      lookUntil(now() + 50_000);
      expect(look(now() + 1_000)).toEqual(frontends);
    }
  });

  test.each([20_000, 45_000, 70_000])('counts as answered between connections that come every %i ms', (distance) => {
    for (const pause of [10_000, 17_000, 30_000]) {
      const { look, lookUntil, stop, now } = watched(pause, distance);
      lookUntil(8 * distance);
      for (let looks = 0; looks < 50; looks++) expect(look(now() + pause)).toEqual(frontends);
      stop();
      expect(look(now() + 5 * distance)).toEqual([]);
    }
  });

  test('counts as answered for ten minutes if few looks saw answers, or within one minute only', () => {
    for (const looks of [2, 6]) {
      const { look, lookUntil, stop, now } = watched(9_000, 250);
      lookUntil(looks * 9_000);
      stop();
      const stopped = now();
      expect(look(stopped + 10 * minute - 1)).toEqual(frontends);
      expect(look(stopped + 10 * minute)).toEqual([]);
    }
  });
});

describe('an answer to a connection that begins', () => {
  const look = (evidence: ConnectionEvidence, now: number) => evidence.judge({ began: now, share: 1 }, now);

  test('is news where connections fail, and where none is seen of one that was refused since', () => {
    const { evidence } = bed(web(), pods('10.1.0.1', '10.1.0.2'));
    const pair = seen('answered', 0);
    const isAwaited = (at: number, now: number): boolean => evidence.isAwaited(pair, at, now);
    evidence.take([seen('answered', 1_000)], 1_000);
    look(evidence, 1_000);
    expect(isAwaited(2_000, 5_000)).toBe(false);
    evidence.take([seen('silent', 2_000), seen('silent', 3_000)], 6_000);
    look(evidence, 6_000);
    expect(isAwaited(6_000, 6_000)).toBe(true);
    expect(evidence.isAwaited({ ...pair, endpoint: address('10.1.0.2') }, 6_000, 6_000)).toBe(false);
    expect(evidence.isAwaited({ ...pair, endpoint: address('10.9.9.9') }, 6_000, 6_000)).toBe(false);
    expect(evidence.isAwaited({ ...pair, destination: address('10.96.0.1') }, 6_000, 6_000)).toBe(false);
    evidence.take([seen('refused', 7_000)], 7_000);
    expect(isAwaited(6_500, 12_000)).toBe(false);
    // Its refusal may still be unread.
    expect(isAwaited(11_000, 12_000)).toBe(false);
    expect(isAwaited(11_000, 13_000)).toBe(true);
    evidence.take([seen('answered', 12_000)], 13_000);
    look(evidence, 13_000);
    expect(isAwaited(13_000, 16_000)).toBe(false);
  });

  test('is news where answers of before tell little of now, for ten minutes', () => {
    const { evidence } = bed(web(), pods('10.1.0.1'));
    const pair = seen('answered', 0);
    evidence.take([pair], 0);
    evidence.judge({ began: 1_000, share: 1 }, 1_000, () => 500);
    expect(evidence.isAwaited(pair, 1_000, 2_000)).toBe(true);
    expect(evidence.doubts.areAwaited).toBe(true);
    expect(evidence.isAwaited(pair, 1_000, 10 * minute)).toBe(false);
  });
});

test('a report names three endpoints and counts the others', () => {
  const many = Array.from({ length: 5 }, (_, index) => `10.1.0.${index + 1}`);
  const { evidence, say } = bed(web(), pods(...many));
  for (const text of many)
    evidence.take([seen('refused', 1, { endpoint: address(text) }), seen('refused', 2, { endpoint: address(text) })], 3);
  expect(say(3)).toEqual([
    'default/web IPv4 80/TCP all: connections to 10.1.0.1:8080, 10.1.0.2:8080, 10.1.0.3:8080 and 2 others are refused',
  ]);
});

test('a report is bounded and says when it is', () => {
  const answered = Array.from({ length: 600 }, (_, index) => `192.0.2.1 TCP ${1_000 + index}`);
  const failing = Array.from({ length: 150 }, (_, index) => {
    const port = `${1_000 + index}/TCP`;
    return { service: 'a/b', family: 'IPv4', port, endpoint: `10.1.0.1:${index}`, kind: 'silent', areAll: true } as const;
  });
  const report = checksReport('n1', 'passive', undefined, { answered, failing });
  expect(report).toMatchObject({ truncated: true });
  expect([report.answered.length, report.failing.length]).toEqual([limits.answeredFrontends, limits.failingEndpoints]);
  expect(checksReport('n1', 'passive', 'no right', { answered: [], failing: [] }).problem?.code).toBe('ChecksBlind');
});

test('whatever is seen, the evidence stays within its bounds and is forgotten', () => {
  const endpoints = ['10.1.0.1', '10.1.0.2', '10.1.0.3'];
  const connection = fc.record({
    endpoint: fc.constantFrom(...endpoints, '10.9.9.9').map(address),
    destination: fc.constantFrom('192.0.2.1', '10.96.0.1', '198.51.100.1').map(address),
    outcome: fc.constantFrom(...connectionOutcomes),
    at: fc.integer({ min: -minute, max: 20 * minute }),
    id: fc.integer({ min: 0, max: 5 }),
  });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(20 * minute), fc.array(connection, { maxLength: 20 })), { maxLength: 20 }), (looks) => {
      const { evidence } = bed(web(), pods(...endpoints));
      for (const [now, connections] of looks.toSorted(([a], [b]) => a - b)) {
        const past = connections
          .map((one) => seen(one.outcome, Math.min(one.at, now), one))
          .map((one) => ({ ...one, at: Math.min(one.at, now) }));
        evidence.take(past, now);
        const { answered, failing } = evidence.judge({ began: now, share: 1 }, now);
        expect(evidence.size).toBeLessThanOrEqual(6);
        expect(answered.every((key) => key.startsWith('192.0.2.1') || key.startsWith('10.96.0.1'))).toBe(true);
        // An endpoint that fails has failures in what was seen, and no later answer by the same frontend in the same look.
        for (const { endpoint } of failing) expect(endpoint).toMatch(/^10\.1\.0\.[123]:8080$/);
      }
      expect(evidence.judge({ began: 0, share: 1 }, 31 * minute)).toEqual({ answered: [], failing: [] });
      expect(evidence.size).toBe(0);
    }),
    { numRuns: runs(1_000) },
  );
});

const unroutable: NoWay = { kind: 'unroutable', route: 'unreachable 10.1.0.0/16' };
const notOnLink: NoWay = { kind: 'notOnLink', interface: 'eth0' };

test.each([
  ['unroutable', unroutable, 'EndpointUnroutable', 'there is no way to 10.1.0.1:8080: unreachable 10.1.0.0/16'],
  ['notOnLink', notOnLink, 'EndpointNotOnLink', 'nobody answers on eth0 for the address of 10.1.0.1:8080'],
  ['refused', undefined, 'EndpointRefuses', 'connections to 10.1.0.1:8080 are refused'],
  ['silent', undefined, 'EndpointSilent', 'connections to 10.1.0.1:8080 get no answer'],
  [
    'unfinished',
    undefined,
    'ClientsDoNotComplete',
    '10.1.0.1:8080 answer connections, and clients do not complete them: the answers do not reach them, or their addresses are forged',
  ],
  [
    'dropped',
    undefined,
    'EndpointDropped',
    'connections to 10.1.0.1:8080 are dropped or rejected by a filter of the node that passes them on',
  ],
  ['hangs', undefined, 'EndpointHangs', 'connections to 10.1.0.1:8080 are established, and nothing answers what clients send'],
  [
    'onlyListens',
    undefined,
    'EndpointSendsNothing',
    'connections to 10.1.0.1:8080 are established, nothing answers what clients send, and the program keeps the connections that clients end',
  ],
  [
    'largeUnacknowledged',
    undefined,
    'LargeAnswersUnacknowledged',
    'large packets of answers from 10.1.0.1:8080 are sent again and again, and clients acknowledge none of them',
  ],
  [
    'unacknowledged',
    undefined,
    'AnswersUnacknowledged',
    '10.1.0.1:8080 send data on established connections, and clients do not acknowledge it: it does not reach them, or they are gone',
  ],
] as const)('an endpoint that is %s has its own reason', (kind, way, code, sentence) => {
  const failing = {
    service: 'a/b',
    family: 'IPv4',
    port: '80/TCP',
    endpoint: '10.1.0.1:8080',
    kind,
    areAll: true,
    ...(way === undefined ? {} : { way }),
  } as const;
  const [entry] = checksReport('n1', 'passive', undefined, { answered: [], failing: [failing] }).failing;
  expect(entry?.reason.code).toBe(code);
  expect(reasonText(entry?.reason as Reason)).toBe(sentence);
});

describe('connections that were established', () => {
  const answered = (at: number, data: ObservedConnection['data'], more = {}): ObservedConnection =>
    seen('answered', at, { ...defined({ data }), ...more });
  const unheard = (at: number, more: Partial<ObservedConnection> = {}): ObservedConnection =>
    seen('unheard', at, { data: 'none', isEnded: true, ...more });
  const waiting = (at: number): ObservedConnection => seen('unheard', at, { data: 'none' });
  const lost = (at: number, data: ObservedConnection['data']): ObservedConnection => seen('unacknowledged', at, defined({ data }));
  const hangs = 'default/web IPv4 80/TCP all: connections to 10.1.0.1:8080 are established, and nothing answers what clients send';

  test('fail when the endpoint answered with data before and sends none to two clients, although it completes handshakes', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    evidence.take([answered(1_000, 'some'), unheard(10_000)], 11_000);
    expect(say(11_000)).toEqual([]);
    evidence.take([unheard(12_000), answered(13_000, 'none')], 14_000);
    expect(say(14_000)).toEqual([hangs]);
    evidence.take([answered(15_000, 'some')], 16_000);
    expect(say(16_000)).toEqual([]);
  });

  test('fail while clients wait, and also when only another endpoint of the Service answered with data', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1', '10.1.0.2'));
    evidence.take([waiting(1_000), waiting(2_000)], 3_000);
    expect(say(3_000)).toEqual([]);
    evidence.take([answered(4_000, 'some', { endpoint: address('10.1.0.2') })], 5_000);
    expect(say(5_000)).toEqual([hangs.replace('all', 'some')]);
  });

  test('of a program that never answered are doubted only when it also keeps those that clients ended', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    evidence.take([answered(1_000, 'none'), unheard(2_000), unheard(3_000)], 4_000);
    expect(say(4_000)).toEqual([
      `${hangs.replace('all', 'some').replace(', and nothing', ', nothing')}, and the program keeps the connections that clients end`,
    ]);
  });

  test('lose large packets when two do, until a large answer is acknowledged; small ones tell nothing of them', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    evidence.take([lost(1_000, 'large')], 2_000);
    expect(say(2_000)).toEqual([]);
    evidence.take([lost(3_000, 'large'), answered(4_000, 'some')], 5_000);
    expect(say(5_000)).toEqual([
      'default/web IPv4 80/TCP some: large packets of answers from 10.1.0.1:8080 are sent again and again, and clients acknowledge none of them',
    ]);
    evidence.take([seen('used', 6_000, { data: 'large' })], 7_000);
    expect(say(7_000)).toEqual([]);
  });

  test('whose clients acknowledge no data are doubted until another one is answered: clients may be gone', () => {
    const { evidence, say } = bed(web(), pods('10.1.0.1'));
    const [first, second] = [lost(1_000, undefined), lost(2_000, undefined)];
    evidence.take([first, second], 3_000);
    expect(say(3_000)).toEqual([
      'default/web IPv4 80/TCP some: 10.1.0.1:8080 send data on established connections, and clients do not acknowledge it: it does not reach them, or they are gone',
    ]);
    evidence.take([answered(4_000, undefined)], 5_000);
    // The endpoint sends again, on the same connection.
    evidence.take([{ ...second, at: 6_000 }], 7_000);
    expect(say(7_000)).toEqual([]);
    expect(say(1_000 + limits.evidenceMilliseconds)).toEqual([]);
  });
});
