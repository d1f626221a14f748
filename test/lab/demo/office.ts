import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Outcome } from '../outcome.ts';
import type { Topology } from '../topology.ts';
import type { Scene } from './chapters.ts';

const client = 'client';
const nodes = ['node1', 'node2', 'node3'] as const;
const lan = 'lan';
const officeSwitch = 'switch';
const address = '10.5.0.200';
const intervalMs = 10;
const timeoutMs = 500;
/** The bound of a failover when BFD between nodes does not work. */
const boundMs = 3000;
const settledMs = 1500;
/** The manifests of the chapter, which it removes at its end. */
export const officeManifests = '70-office.yaml';

/** Adds a switch that the client and the nodes share, in addition to the fabric. */
export function withOffice(topology: Topology): Topology {
  return {
    ...topology,
    machines: [...topology.machines, { name: officeSwitch, kind: 'router', bridges: [{ name: 'br0', addresses: [] }] }],
    links: [
      ...topology.links,
      ...[client, ...nodes].map(
        (machine, at) =>
          [
            { machine: officeSwitch, interface: machine, bridge: 'br0' },
            { machine, interface: lan, addresses: [`10.5.0.${10 + at}/24`] },
          ] as const,
      ),
    ],
  };
}

/** An address on the client's own segment: one node answers ARP for it. That node loses its link to the segment, silently. */
export async function ownerIsCutOff({ lab, herald, reporter }: Scene): Promise<void> {
  const scene = { lab, herald, reporter };
  await herald.write(officeManifests, announcement);
  await lab.until('every node reports its link to the segment', async (note) => note(await linksReported(scene)) === nodes.length);
  await herald.write(officeManifests, `${announcement}---\n${service}`);
  await herald.untilAssigned('shop/office', 1);
  const owner = await untilSettled(scene);
  const neighbours = await lab.machine(client).exec(['ip', 'neigh', 'show', address]);
  reporter.check(`one node answers ARP for ${address}`, true, `${owner}; the client has: ${neighbours.stdout.trim()}`);

  const probe = lab.client.probe({ protocol: 'udp', address, port: 80, intervalMs, timeoutMs });
  try {
    await lab.until('the probe succeeds', () => probe.outcomes.filter(({ ok }) => ok).length > 50);
    const cutAt = Date.now();
    await lab.cut(owner, officeSwitch);
    reporter.say(`the switch drops every frame of ${owner}: no link goes down, and no other node gets a message`);
    const next = await untilOwner(scene, owner);
    const nextAt = Date.now();
    // By then all datagrams that were sent before have an answer or are lost.
    await lab.until('requests have ended', () => probe.outcomes.some((one) => one.ok && one.at > nextAt + timeoutMs));
    const begun = probe.outcomes.filter(({ at }) => at >= cutAt);
    const failover = silenceOf(begun, cutAt);
    const lost = begun.filter(({ ok }) => !ok).length;
    reporter.check(
      `${next} takes ${address} over`,
      failover < boundMs,
      `first answer after ${failover} ms; ${lost} datagrams lost, one sent every ${intervalMs} ms`,
      { failover, lost },
    );

    await lab.heal(owner, officeSwitch);
    const healedAt = Date.now();
    await untilOwner(scene, next);
    await lab.until('some requests have ended since', () => probe.outcomes.some((one) => one.ok && one.at > healedAt + 2 * timeoutMs));
    const { outcomes } = await probe.stop();
    const lostByReturn = outcomes.filter(({ ok, at }) => !ok && at >= healedAt).length;
    reporter.check(`${owner} is back and takes the address back`, true, `${lostByReturn} datagrams lost`, { lostByReturn });
  } finally {
    await probe.stop();
    await lab.heal(owner, officeSwitch);
  }
  await herald.remove(officeManifests);
}

async function linksReported({ herald }: Scene): Promise<number> {
  const reports = nodes.map((node) => readFile(join(herald.directory, '.herald/nodes', `${node}.yaml`), 'utf8').catch(() => ''));
  return (await Promise.all(reports)).filter((report) => report.includes(`name: ${lan}\n`)).length;
}

/** Waits until one node has had the address for a while, and returns that node. The best placed one may be the last to have its rules. */
async function untilSettled(scene: Scene): Promise<string> {
  let owner = await untilOwner(scene);
  let since = Date.now();
  return scene.lab.until('the owner stays the same', async () => {
    const now = await untilOwner(scene);
    if (now !== owner) since = Date.now();
    owner = now;
    return Date.now() - since > settledMs ? owner : undefined;
  });
}

/** Waits until the client's table of neighbours has a node for the address, other than `not`, and returns that node. */
async function untilOwner({ lab }: Scene, not?: string): Promise<string> {
  const macs = await Promise.all(
    nodes.map(async (node) => {
      const { stdout } = await lab.node(node).exec(['ip', '-j', 'link', 'show', lan]);
      return [String((JSON.parse(stdout) as { address: string }[])[0]?.address), node] as const;
    }),
  );
  return lab.until(`a node answers for ${address}`, async (note) => {
    await lab.client.udp({ address, port: 80, timeoutMs });
    const { stdout } = await lab.machine(client).exec(['ip', '-j', 'neigh', 'show', address]);
    const [entry] = JSON.parse(stdout || '[]') as { lladdr?: string }[];
    const owner = note(new Map(macs).get(entry?.lladdr ?? ''));
    return owner === not ? undefined : owner;
  });
}

/** Returns the milliseconds from the cut until a request began that was answered, with none answered before. */
function silenceOf(outcomes: readonly Outcome[], cutAt: number): number {
  const inOrder = outcomes.toSorted((a, b) => a.at - b.at);
  const firstLost = inOrder.findIndex(({ ok }) => !ok);
  const answered = inOrder.slice(firstLost).find(({ ok }) => ok);
  return answered === undefined || firstLost < 0 ? 0 : Math.round(answered.at - cutAt);
}

const announcement = `apiVersion: herald.dev/v1alpha1
kind: IPAddressPool
metadata: { name: office }
spec: { addresses: [10.5.0.200-10.5.0.209], autoAssign: false }
---
apiVersion: herald.dev/v1alpha1
kind: L2Advertisement
metadata: { name: office }
spec: { ipAddressPools: [office] }
`;

const service = `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: office, annotations: { herald.dev/address-pool: office } }
spec: { type: LoadBalancer, clusterIP: 10.96.0.70, ports: [{ name: udp, protocol: UDP, port: 80, targetPort: 8080 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: office-1, labels: { kubernetes.io/service-name: office } }
addressType: IPv4
ports: [{ name: udp, protocol: UDP, port: 8080 }]
endpoints:
${nodes.map((node, at) => `  - { addresses: [10.244.${at + 1}.10], nodeName: ${node}, conditions: { ready: true } }`).join('\n')}
`;
