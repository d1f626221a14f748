import { afterEach, describe, expect, test } from 'vitest';
import { documents, heraldConfig, type Manifest } from '../host/objects.ts';
import { until } from '../until.ts';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';
import { nodeManifest, pool, serviceManifests } from './manifests.ts';

let lab: AgentsOnSegment | undefined;

afterEach(async () => {
  await lab?.close();
  lab = undefined;
});

/** MetalLB's objects, in its namespace. */
const metallb: readonly Manifest[] = [
  {
    apiVersion: 'metallb.io/v1beta1',
    kind: 'IPAddressPool',
    metadata: { namespace: 'metallb-system', name: 'segment' },
    spec: { addresses: [pool.ipv4, pool.ipv6], avoidBuggyIPs: true },
  },
  {
    apiVersion: 'metallb.io/v1beta1',
    kind: 'L2Advertisement',
    metadata: { namespace: 'metallb-system', name: 'segment' },
    spec: { ipAddressPools: ['segment'], interfaces: ['v0'] },
  },
];

async function expectAnswers(bed: AgentsOnSegment, pods: readonly string[]): Promise<void> {
  for (const address of [vip, vip6]) {
    for (const protocol of ['tcp', 'udp'] as const) {
      const report = await bed.client[protocol]({ address, port: 80, count: 30 });
      expect(report.errors).toEqual({});
      expect(Object.keys(report.pods).sort()).toEqual(pods);
    }
  }
}

describe('ways to run', () => {
  test('an L2Advertisement of MetalLB is announced with compat metallb, in place of kube-proxy and beside it', async () => {
    lab = await AgentsOnSegment.build({ nodes: 2, manifests: [...metallb, ...serviceManifests({ pods: [0, 1] })], idle: true });
    const bed = lab;
    const settings = (services: string): string =>
      documents(heraldConfig({ ...bed.config, compat: 'metallb', services }), nodeManifest(0), nodeManifest(1));
    await bed.write('10-nodes.yaml', settings('all'));
    bed.startController();
    await Promise.all([bed.startAgent(0), bed.startAgent(1)]);
    await bed.watch.ask([vip, vip6], 25);
    await bed.untilOwned();
    await expectAnswers(bed, ['pod0', 'pod1']);
    const clusterAddress = (at: number): string =>
      bed.segment.run(at, 'nft', 'list', 'table', 'ip', 'herald').match(/10\.96\.0\.1\b/)?.[0] ?? '';
    expect([0, 1].map(clusterAddress)).toEqual(['10.96.0.1', '10.96.0.1']);
    await bed.write('10-nodes.yaml', settings('external'));
    await until('ClusterIPs are left to kube-proxy', (note) => note([0, 1].map(clusterAddress)).every((address) => address === ''));
    await expectAnswers(bed, ['pod0', 'pod1']);
    const [owner = 0] = await bed.untilOwned();
    await bed.kill(owner);
    await bed.untilOwner(1 - owner);
    await expectAnswers(bed, ['pod0', 'pod1']);
  });

  test('herald run announces the addresses of its host alone', async () => {
    lab = await AgentsOnSegment.build({ nodes: 1, idle: true });
    await lab.startRun(0);
    await lab.watch.ask([vip, vip6], 25);
    await lab.untilOwner(0);
    await expectAnswers(lab, ['pod0']);
  });
});
