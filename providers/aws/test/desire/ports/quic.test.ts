import { beforeEach, describe, expect, test } from 'vitest';
import type { TargetPod } from '../../../../../providers/aws/model/pods.ts';
import type { ServiceKey } from '../../../../../src/model/objects/metadata.ts';
import { reasonText } from '../../../../../src/model/reasons.ts';
import { slice } from '../../../../../test/unit/decisions/fixtures.ts';
import { ProviderFixture } from '../../support/provider-fixture.ts';

const annotations = {
  'quic-enabled-ports': '443',
  'nlb-target-type': 'ip',
  'disable-nlb-sg': 'true',
  'manage-backend-security-group-rules': 'false',
};
const udp = { name: 'web', ports: ['quic:443/UDP@30443'], annotations };
const uid = (last: string): string => `3f1c8b52-8c1e-4d6a-9b7e-${last.padStart(12, '0')}`;
const idOf = (last: string): string => `0x9b7e${last.padStart(12, '0')}`;

let fixture: ProviderFixture;

beforeEach(() => {
  fixture = new ProviderFixture({ comparesPods: true });
});

/** Sets the Pods behind the Service, each as "NAME ADDRESS LAST-DIGITS-OF-UID". */
function pods(...texts: string[]): void {
  const all = texts.map((text) => text.split(' '));
  for (const [name = '', address = '', last = ''] of all) {
    const known = fixture.pods.get(`default/${name}`);
    const pod: TargetPod = {
      addresses: [address],
      node: 'node-0',
      phase: 'Running',
      uid: uid(last),
      created: `2026-01-01T00:00:0${last}Z`,
    };
    fixture.pods.set(`default/${name}`, known === undefined || known instanceof Error ? pod : { ...known, ...pod });
  }
  const addresses = all.map(([, address = '']) => `${address}@node-0`);
  const plain = slice({ service: 'default/web', ports: ['quic:443/UDP', 'tls:443'], endpoints: addresses });
  fixture.snapshot.upsert({
    ...plain,
    endpoints: plain.endpoints.map((endpoint, index) => ({ ...endpoint, pod: all[index]?.[0] ?? '' })),
  });
}

function annotate(name: string, quicServerId: string): void {
  const pod = fixture.pods.get(`default/${name}`);
  if (pod !== undefined && !(pod instanceof Error)) fixture.pods.set(`default/${name}`, { ...pod, quicServerId });
}

const { groups, listeners } = {
  groups: () => [...fixture.cloud.world.targetGroups.values()],
  listeners: () => [...fixture.cloud.world.listeners.values()].map(({ value }) => `${value.Protocol} ${value.Port}`),
};

/** The registered targets that do not drain, as "ADDRESS SERVER-ID". */
function targets(): string[] {
  const all = groups().flatMap((group) => [...group.targets.values()]);
  return all
    .flatMap(({ target, drainingSince }) => (drainingSince === undefined ? [`${target.Id} ${target.QuicServerId}`] : []))
    .toSorted();
}

const warnings = (key: ServiceKey): string[] => (fixture.results.get(key)?.warnings ?? []).map((one) => `${one.code}: ${reasonText(one)}`);
const failure = (key: ServiceKey): string => {
  const wrong = fixture.results.get(key)?.reason;
  return wrong === undefined ? '' : `${wrong.code}: ${reasonText(wrong)}`;
};

describe('a UDP port of quic-enabled-ports', () => {
  test('gets a QUIC listener, and each Pod is registered with the end of its UID as server id', async () => {
    pods('web-1 10.0.1.5 1', 'web-2 10.0.1.6 2');
    const key = fixture.apply(udp);
    await fixture.run(600);
    expect(listeners()).toEqual(['QUIC 443']);
    expect(groups().map(({ value }) => `${value.Protocol} ${value.TargetType}`)).toEqual(['QUIC ip']);
    expect(targets()).toEqual([`10.0.1.5 ${idOf('1')}`, `10.0.1.6 ${idOf('2')}`]);
    expect(failure(key)).toBe('');
    const before = fixture.cloud.writes.length;
    await fixture.run(600);
    expect(fixture.cloud.writes.length).toBe(before);
  });

  test('gets a TCP_QUIC listener when TCP has the same port', async () => {
    pods('web-1 10.0.1.5 1');
    fixture.apply({ ...udp, ports: ['quic:443/UDP@30443', 'tls:443/TCP@30443'] });
    await fixture.run(600);
    expect(listeners()).toEqual(['TCP_QUIC 443']);
    expect(targets()).toEqual([`10.0.1.5 ${idOf('1')}`]);
  });

  test('may be given by name, and the other ports stay as they are', async () => {
    pods('web-1 10.0.1.5 1');
    fixture.apply({ ...udp, ports: ['quic:443/UDP', 'tls:80/TCP'], annotations: { ...annotations, 'quic-enabled-ports': 'QUIC' } });
    await fixture.run(600);
    expect(listeners().toSorted()).toEqual(['QUIC 443', 'TCP 80']);
  });

  test('changes from UDP to QUIC and back without a new load balancer', async () => {
    pods('web-1 10.0.1.5 1');
    const { 'quic-enabled-ports': _, ...others } = annotations;
    fixture.apply({ ...udp, annotations: others });
    await fixture.run(600);
    const before = [...fixture.cloud.world.loadBalancers.keys()];
    expect(listeners()).toEqual(['UDP 443']);
    fixture.apply(udp);
    await fixture.run(600);
    expect(listeners()).toEqual(['QUIC 443']);
    expect(groups().map(({ value }) => value.Protocol)).toEqual(['QUIC']);
    fixture.apply({ ...udp, annotations: others });
    await fixture.run(600);
    expect([listeners(), targets(), [...fixture.cloud.world.loadBalancers.keys()]]).toEqual([['UDP 443'], ['10.0.1.5 undefined'], before]);
  });
});

describe('what AWS does not allow with QUIC', () => {
  test.each([
    [
      'nodes as targets',
      { 'nlb-target-type': 'instance' },
      'port 443 is QUIC, which needs Pods as targets: set service.beta.kubernetes.io/aws-load-balancer-nlb-target-type to "ip"',
    ],
    ['security groups', { 'disable-nlb-sg': 'false' }, 'port 443 is QUIC, which is impossible on an NLB with security groups'],
    ['a dual-stack NLB', { 'ip-address-type': 'dualstack' }, 'port 443 is QUIC, which is impossible on a dual-stack NLB'],
    [
      'a port that the Service does not have',
      { 'quic-enabled-ports': '444' },
      'quic-enabled-ports names "444", which is no port of the Service',
    ],
    ['a port without UDP', { 'quic-enabled-ports': 'tls' }, 'quic-enabled-ports names "tls", a port that carries no UDP'],
  ])('is an error that says how to change it, and nothing is made: %s', async (_, changed, text) => {
    pods('web-1 10.0.1.5 1');
    const key = fixture.apply({ ...udp, ports: ['quic:443/UDP@30443', 'tls:80/TCP@30080'], annotations: { ...annotations, ...changed } });
    await fixture.run(60);
    expect(failure(key)).toContain(text);
    expect(fixture.cloud.writes).toEqual([]);
  });

  test('is a second listener for UDP, also of a Service that shares the NLB', async () => {
    pods('web-1 10.0.1.5 1');
    const key = fixture.apply({ ...udp, ports: ['quic:443/UDP', 'dns:53/UDP'] });
    await fixture.run(60);
    expect(failure(key)).toContain('AwsQuicImpossible');
    expect(failure(key)).toContain(
      'port 443 of default/web is QUIC and port 53 of default/web is UDP: an NLB with a QUIC listener has no other listener for UDP or QUIC',
    );
    expect(fixture.cloud.writes).toEqual([]);
    const shared = { ...annotations, 'herald.dev/aws-shared-load-balancer': 'edge' };
    fixture.apply({ ...udp, annotations: shared, createdAt: '2026-01-01T00:00:00Z' });
    const { 'quic-enabled-ports': __, ...plain } = shared;
    const guest = fixture.apply({ name: 'dns', ports: ['dns:53/UDP'], annotations: plain, createdAt: '2026-01-02T00:00:00Z' });
    await fixture.run(600);
    expect(failure(guest)).toContain('port 443 of default/web is QUIC and port 53 of default/dns is UDP');
    expect(listeners()).toEqual(['QUIC 443']);
  });
});

describe('the server id of a Pod', () => {
  test('is the one of its annotation, in lower case', async () => {
    pods('web-1 10.0.1.5 1', 'web-2 10.0.1.6 2');
    annotate('web-1', '0x00000000000000AB');
    fixture.apply(udp);
    await fixture.run(600);
    expect(targets()).toEqual(['10.0.1.5 0x00000000000000ab', `10.0.1.6 ${idOf('2')}`]);
  });

  test.each([
    [
      'is malformed',
      'twelve',
      'Pod web-2 (10.0.1.6): its annotation herald.dev/aws-quic-server-id is "twelve", which is not 0x and 16 hexadecimal digits',
    ],
    [
      'is that of an older Pod',
      idOf('1'),
      `Pod web-2 (10.0.1.6): its server id ${idOf('1')} is that of Pod web-1 (10.0.1.5), which is older`,
    ],
  ])('keeps the Pod out and is reported when it %s', async (_, text, why) => {
    pods('web-1 10.0.1.5 1', 'web-2 10.0.1.6 2');
    annotate('web-2', text);
    const key = fixture.apply(udp);
    await fixture.run(600);
    expect(targets()).toEqual([`10.0.1.5 ${idOf('1')}`]);
    expect(warnings(key)).toContain(`AwsQuicTargetRefused: QUIC port 443 does not send to ${why}`);
  });

  test('is missing for an address that HeraldConfig allows although it is no Pod', async () => {
    fixture = new ProviderFixture();
    fixture.snapshot.upsert(slice({ service: 'default/web', ports: ['quic:443/UDP'], endpoints: ['10.0.1.9@node-0'] }));
    const key = fixture.apply(udp);
    await fixture.run(600);
    expect(targets()).toEqual([]);
    expect(warnings(key).join()).toContain('QUIC port 443 does not send to 10.0.1.9: it is no known Pod, and only Pods have a server id');
  });

  test('changes when a Pod takes the address of another: the old target goes before the new one comes', async () => {
    pods('web-1 10.0.1.5 1', 'web-2 10.0.1.6 2');
    fixture.apply(udp);
    await fixture.run(600);
    pods('web-2 10.0.1.6 2', 'web-3 10.0.1.5 3');
    const before = fixture.cloud.writes.length;
    await fixture.run(600);
    expect(targets()).toEqual([`10.0.1.5 ${idOf('3')}`, `10.0.1.6 ${idOf('2')}`]);
    expect(fixture.cloud.writes.slice(before).map(({ operation }) => operation)).toEqual([
      'elbv2:DeregisterTargets',
      'elbv2:RegisterTargets',
    ]);
  });

  test('moves with its Pod to another address: the old target goes before the new one comes', async () => {
    pods('web-1 10.0.1.5 1', 'web-2 10.0.1.6 2');
    annotate('web-1', '0x00000000000000ab');
    fixture.apply(udp);
    await fixture.run(600);
    pods('web-1 10.0.1.7 3', 'web-2 10.0.1.6 2');
    await fixture.run(600);
    expect(targets()).toEqual([`10.0.1.6 ${idOf('2')}`, '10.0.1.7 0x00000000000000ab']);
  });

  test('counts as the right one while AWS does not show it', async () => {
    pods('web-1 10.0.1.5 1');
    fixture.apply(udp);
    await fixture.run(600);
    const before = fixture.cloud.writes.length;
    for (const group of groups())
      for (const [key, { target, ...rest }] of group.targets)
        group.targets.set(key, { ...rest, target: { Id: target.Id, Port: target.Port } });
    fixture.restart();
    await fixture.run(600);
    expect(fixture.cloud.writes.slice(before)).toEqual([]);
  });

  test('stays the target of a Service that gets an error, with its Pods current', async () => {
    pods('web-1 10.0.1.5 1');
    fixture.apply(udp);
    await fixture.run(600);
    pods('web-1 10.0.1.5 1', 'web-2 10.0.1.6 2');
    fixture.apply({ ...udp, annotations: { ...annotations, 'nlb-target-type': 'nodes' } });
    await fixture.run(600);
    expect(targets()).toEqual([`10.0.1.5 ${idOf('1')}`, `10.0.1.6 ${idOf('2')}`]);
  });
});
