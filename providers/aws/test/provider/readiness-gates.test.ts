import { describe, expect, test } from 'vitest';
import type { TargetPod } from '../../../../providers/aws/model/pods.ts';
import type { EndpointSlice } from '../../../../src/model/objects/endpoint-slice.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';
import { node } from '../support/stack-fixture.ts';

const gate = 'target-health.elbv2.k8s.aws/web';
const service = { name: 'web', ports: ['http:80/TCP@30080'], annotations: { 'nlb-target-type': 'ip' } };

interface PodLiteral {
  readonly address: string;
  /** Gates whose condition is not True. */
  readonly gates?: readonly string[];
  /** All gates. */
  readonly declared?: readonly string[];
  readonly areContainersReady?: boolean;
  readonly isEndpointReady?: boolean;
}

const pod = ({ address, gates = [gate], declared = [gate, ...gates], areContainersReady = true }: PodLiteral): TargetPod => ({
  addresses: [address],
  node: 'node-0',
  phase: 'Running',
  uid: `uid-${address}`,
  gates: declared,
  unmetGates: gates,
  containers: [{ ready: true }, { ready: areContainersReady }],
});

/** The Pods web-0, web-1 and so on. The endpoints of Pods with unmet gates are not ready, as Kubernetes reports them. */
function endpoints(fixture: ProviderFixture, ...pods: readonly PodLiteral[]): EndpointSlice {
  const plain = slice({ service: 'default/web', ports: ['http:8080'], endpoints: pods.map(({ address }) => `${address}@node-0`) });
  for (const [index, one] of pods.entries()) fixture.pods.set(`default/web-${index}`, pod(one));
  return {
    ...plain,
    endpoints: plain.endpoints.map((endpoint, index) => {
      const { gates = [gate], isEndpointReady = gates.length === 0 } = pods[index] ?? {};
      return { ...endpoint, pod: `web-${index}`, ready: isEndpointReady, serving: isEndpointReady };
    }),
  };
}

const registered = ({ cloud }: ProviderFixture): string[] =>
  [...cloud.world.targetGroups.values()].flatMap(({ targets }) =>
    [...targets.values()].filter(({ drainingSince }) => drainingSince === undefined).map(({ target }) => target.Id),
  );

function change(fixture: ProviderFixture, slice: EndpointSlice): void {
  fixture.snapshot.upsert(slice);
  const key = 'default/web-1';
  fixture.provider.affected([{ kind: 'EndpointSlice', key, services: ['default/web'] } as never], fixture.snapshot);
}

async function served(...pods: readonly PodLiteral[]): Promise<{ fixture: ProviderFixture; key: ServiceKey }> {
  const fixture = new ProviderFixture({ comparesPods: true });
  fixture.snapshot.upsert(endpoints(fixture, ...pods));
  const key = fixture.apply(service);
  await fixture.run(300);
  return { fixture, key };
}

describe('a Pod with a readiness gate for the load balancer', () => {
  test('it becomes a target when its containers are ready, and its gate opens when it is healthy', async () => {
    const { fixture } = await served({ address: '10.0.100.5' });
    expect([registered(fixture), fixture.openedGates]).toEqual([['10.0.100.5'], [`default/web-0 ${gate}`]]);
  });

  test('a rollout keeps the old Pod until the new one is healthy', async () => {
    const old = { address: '10.0.100.5', gates: [] };
    const { fixture } = await served(old);
    change(fixture, endpoints(fixture, old, { address: '10.0.100.6' }));
    await fixture.run(10);
    expect([registered(fixture), fixture.openedGates]).toEqual([['10.0.100.5', '10.0.100.6'], []]);
    await fixture.run(60);
    expect(fixture.openedGates).toEqual([`default/web-1 ${gate}`]);
  });

  test('it is no target while a container is not ready, and Herald notices when all are', async () => {
    const { fixture } = await served({ address: '10.0.100.5', areContainersReady: false });
    expect([registered(fixture), fixture.openedGates]).toEqual([[], []]);
    fixture.pods.set('default/web-0', pod({ address: '10.0.100.5' }));
    await fixture.run(120);
    expect(fixture.openedGates).toEqual([`default/web-0 ${gate}`]);
  });

  test('its gate stays closed while AWS finds it unhealthy', async () => {
    const fixture = new ProviderFixture({ comparesPods: true });
    fixture.cloud.world.unhealthy.add('10.0.100.5');
    fixture.snapshot.upsert(endpoints(fixture, { address: '10.0.100.5' }));
    const key = fixture.apply(service);
    await fixture.run(900);
    expect([registered(fixture), fixture.openedGates]).toEqual([['10.0.100.5'], []]);
    expect(JSON.stringify(fixture.results.get(key)?.warnings)).toContain('Pod default/web-0 to become healthy behind the load balancer');
    fixture.cloud.world.unhealthy.clear();
    await fixture.run(300);
    expect(fixture.openedGates).toEqual([`default/web-0 ${gate}`]);
  });

  test('its gate opens only when it is healthy behind every port', async () => {
    const fixture = new ProviderFixture({ comparesPods: true });
    const one = endpoints(fixture, { address: '10.0.100.5' });
    fixture.snapshot.upsert({ ...one, ports: [...one.ports, { name: 'admin', protocol: 'TCP', port: 9090 }] });
    fixture.apply({ ...service, ports: [...service.ports, 'admin:81/TCP@30081'] });
    fixture.cloud.fault = ({ operation, input }) =>
      operation === 'elbv2:RegisterTargets' && JSON.stringify(input).includes('9090') ? { kind: 'error', code: 'denied' } : undefined;
    await fixture.run(600);
    expect(fixture.openedGates).toEqual([]);
    fixture.cloud.fault = () => undefined;
    await fixture.run(900);
    expect(fixture.openedGates).toEqual([`default/web-0 ${gate}`]);
  });

  test.each([
    ['another Service', 'target-health.elbv2.k8s.aws/api'],
    ['another program', 'example.com/warm'],
  ])('a gate for %s is not opened, and does not make the Pod a target', async (_, other) => {
    const { fixture } = await served({ address: '10.0.100.5', gates: [other], declared: [other] });
    expect([registered(fixture), fixture.openedGates]).toEqual([[], []]);
  });

  test('its gate opens although it waits for another gate as well', async () => {
    const { fixture } = await served({ address: '10.0.100.5', gates: ['target-health.elbv2.k8s.aws/api', gate] });
    expect(fixture.openedGates).toEqual([`default/web-0 ${gate}`]);
  });

  test('an open gate stays open when the target becomes unhealthy', async () => {
    const { fixture } = await served({ address: '10.0.100.5' });
    fixture.cloud.world.unhealthy.add('10.0.100.5');
    change(fixture, endpoints(fixture, { address: '10.0.100.5', gates: [] }));
    await fixture.run(900);
    expect([fixture.openedGates.length, registered(fixture)]).toEqual([1, ['10.0.100.5']]);
  });

  test('an endpoint with the address of another Pod is no target, whatever its gates', async () => {
    const fixture = new ProviderFixture({ comparesPods: true });
    fixture.snapshot.upsert(endpoints(fixture, { address: '10.0.100.5' }));
    fixture.pods.set('default/web-0', pod({ address: '10.0.100.9' }));
    fixture.apply(service);
    await fixture.run(300);
    expect([registered(fixture), fixture.openedGates]).toEqual([[], []]);
  });

  test('a missing right to write the condition is reported, and the Service is served', async () => {
    const fixture = new ProviderFixture({ comparesPods: true });
    fixture.openGate = () => {
      throw Object.assign(new Error('pods "web-0" is forbidden'), { code: 'forbidden' });
    };
    fixture.snapshot.upsert(endpoints(fixture, { address: '10.0.100.5' }));
    const key = fixture.apply(service);
    await fixture.run(300);
    expect(fixture.results.get(key)).toMatchObject({
      ingress: [{ hostname: expect.any(String) as string }],
      warnings: [{ code: 'AwsGateNotOpened', details: { pod: 'default/web-0', gate, why: 'pods "web-0" is forbidden' } }],
    });
  });

  test.each([
    ['its containers fail', pod({ address: '10.0.100.5', gates: [], areContainersReady: false }), true],
    ['its node is gone', pod({ address: '10.0.100.5', gates: [] }), false],
  ])('a Pod with an open gate is no target any more when %s', async (_, failed, isNodeReady) => {
    const { fixture } = await served({ address: '10.0.100.5' });
    const other = { address: '10.0.100.6', gates: [] };
    change(fixture, endpoints(fixture, { address: '10.0.100.5', gates: [] }, other));
    await fixture.run(120);
    expect(registered(fixture)).toEqual(['10.0.100.5', '10.0.100.6']);
    const slice = endpoints(fixture, { address: '10.0.100.5', gates: [], isEndpointReady: false }, other);
    fixture.pods.set('default/web-0', failed);
    fixture.snapshot.upsert(node(0, { ready: isNodeReady }));
    fixture.cloud.world.clock.advance(5000);
    change(fixture, slice);
    await fixture.run(60);
    expect(registered(fixture)).toEqual(['10.0.100.6']);
  });

  test('a Pod is polled only while it waits', async () => {
    const { fixture } = await served({ address: '10.0.100.5' });
    change(fixture, endpoints(fixture, { address: '10.0.100.5', gates: [] }));
    await fixture.run(60);
    const reads = fixture.podReads.length;
    await fixture.run(200);
    expect(fixture.podReads.length - reads).toBeLessThan(3);
  });
});
