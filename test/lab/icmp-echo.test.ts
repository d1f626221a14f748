import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NftablesDataplane } from '../../src/dataplane/nftables/nftables.ts';
import { commandPorts } from '../support/commands/command-ports.ts';
import { machinePorts } from '../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../support/namespace-named.ts';
import { nodeForwarding } from '../../src/decisions/forwarding/node.ts';
import { decideForwarding } from '../../src/decisions/forwarding/plan.ts';
import type { Family } from '../../src/net/address.ts';
import type { ServiceForwarding } from '../../src/net/frontend.ts';
import type { Snapshot } from '../../src/model/store/snapshot.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { cluster, type ServiceLiteral } from '../unit/decisions/fixtures.ts';
import { shortTimeout, clientAddress, inside, namespaceOf, nodeAddress, OneNode, podAddress, type Machine } from './dataplane/one-node.ts';

const families = [4, 6] as const;
const program = fileURLToPath(new URL('dataplane/ping.mjs', import.meta.url));
const vips = { 4: ['192.0.2.1', '192.0.2.2', '192.0.2.3'], 6: ['fd09::1', 'fd09::2', 'fd09::3'] } as const;
const clusterIPs = { 4: '172.30.0.1', 6: 'fd02::1' } as const;

let lab: OneNode;
let dataplane: NftablesDataplane;
let present: string[] = [];

beforeAll(async () => {
  lab = await OneNode.start();
});

afterAll(() => lab?.stop());

/** A Service of both families with its endpoints: "1@here", "3@there draining". */
interface LabService {
  readonly service: Omit<ServiceLiteral, 'clusterIPs'>;
  readonly endpoints: readonly string[];
}

function snapshotOf(services: readonly LabService[], icmpEcho: boolean): Snapshot {
  return cluster({
    nodes: [{ name: 'here', internalIPs: [nodeAddress(4), nodeAddress(6)], podCIDRs: ['10.244.0.0/16', 'fd01::/64'] }],
    services: services.map(({ service }) => ({ ...service, clusterIPs: [clusterIPs[4], clusterIPs[6]] })),
    slices: services.flatMap(({ service: { name }, endpoints }) =>
      families.map((family) => ({
        service: name,
        name: `${name}-${family}`,
        family,
        ports: ['8080'],
        endpoints: endpoints.map((text) => text.replace(/^\d/, (pod) => podAddress(family, Number(pod)))),
      })),
    ),
    config: { icmpEcho },
  });
}

async function use(services: readonly LabService[], icmpEcho = true): Promise<void> {
  const snapshot = snapshotOf(services, icmpEcho);
  const changes = new Map<string, ServiceForwarding | undefined>(present.map((key) => [key, undefined]));
  for (const [key, service] of snapshot.services) changes.set(key, decideForwarding(snapshot, service, 'here').forwarding);
  present = [...snapshot.services.keys()];
  await dataplane.setNode(nodeForwarding(snapshot, 'here'));
  const { quarantined } = await dataplane.apply(changes);
  expect([...quarantined]).toEqual([]);
}

/** Pings each address. Returns the address if it answered and null if it did not within so many seconds. */
function ping(machine: Machine, source: string, seconds: number, addresses: readonly string[]): unknown[] {
  if (addresses.length === 0) return [];
  return JSON.parse(inside(machine, `${process.execPath} ${program} ${source} ${seconds} ${addresses.join(' ')}`)) as unknown[];
}

/** Expects answers from `answering` and none from `silent`. Answers that should come have more time. */
function expectAnswers(machine: Machine, source: string, answering: readonly string[], silent: readonly string[]): void {
  expect([machine, ping(machine, source, 10, answering), ping(machine, source, 1, silent)]).toEqual([
    machine,
    answering,
    silent.map(() => null),
  ]);
}

const senders = (family: Family): readonly (readonly [Machine, string])[] => [
  ['client', clientAddress(family)],
  ['pod3', podAddress(family, 3)],
  ['node', nodeAddress(family)],
];

const make = {
  netlink: () =>
    new NftablesDataplane(machinePorts(systemClock, silentLog, { own: false, namespace: namespaceNamed(namespaceOf('node')) })),
  command: () => new NftablesDataplane(commandPorts(systemClock, silentLog, ['ip', 'netns', 'exec', namespaceOf('node')])),
};

async function begin(transport: keyof typeof make): Promise<void> {
  dataplane = make[transport]();
  present = [];
  await dataplane.replace({ nodePortAddresses: [], podPrefixes: [], servicePrefixes: [], masqueradeBit: 14 }, new Map());
}

async function end(): Promise<void> {
  await dataplane.cleanup();
  await dataplane.close();
}

test('addresses answer ICMP echo when rules are written by the nft command', async () => {
  await begin('command');
  await use([{ service: { name: 'web', assigned: [vips[4][0], vips[6][0]] }, endpoints: ['1@here'] }]);
  for (const family of families) {
    expectAnswers('client', clientAddress(family), [vips[family][0]], [vips[family][1]]);
  }
  await end();
});

describe('ICMP echo', () => {
  beforeAll(() => begin('netlink'));
  afterAll(end);

  test.each(families)('IPv%i: external addresses answer while they have a backend, without being node addresses', async (family) => {
    const [first, second, other] = vips[family];
    const assigned = [vips[4][0], vips[4][1], vips[6][0], vips[6][1]];
    await use([{ service: { name: 'web', assigned, ports: ['80', '81'] }, endpoints: ['1@here', '3@there'] }]);
    for (const [machine, source] of senders(family)) expectAnswers(machine, source, [first, second], [other]);
    expect(inside('node', `ip -o addr show to ${first}`)).toBe('');
    expect(
      (await lab.request('client', { protocol: 'TCP', address: first, port: 8080, count: 1, timeout: shortTimeout })).counts,
    ).not.toHaveProperty('node');
    await use([{ service: { name: 'web', assigned }, endpoints: ['1@here notready'] }]);
    for (const [machine, source] of senders(family)) expectAnswers(machine, source, [], [first]);
  });

  test.each(families)('IPv%i: under policy Local the node answers only if it has a backend itself', async (family) => {
    const [first] = vips[family];
    const service = { name: 'web', assigned: [vips[4][0], vips[6][0]], externalTrafficPolicy: 'Local' } as const;
    await use([{ service, endpoints: ['1@here', '3@there'] }]);
    expectAnswers('client', clientAddress(family), [first], []);
    await use([{ service, endpoints: ['3@there'] }]);
    expectAnswers('client', clientAddress(family), [], [first]);
  });

  test.each(families)('IPv%i: addresses answer only if HeraldConfig asks for it, unless the Service says otherwise', async (family) => {
    const [first, second] = vips[family];
    const web = { service: { name: 'web', assigned: [vips[4][0], vips[6][0]] }, endpoints: ['1@here'] };
    const other = (icmpEcho: boolean): LabService => ({
      service: { name: 'other', assigned: [vips[4][1], vips[6][1]], ports: ['90'], icmpEcho },
      endpoints: ['1@here'],
    });
    await use([web, other(true)], false);
    expectAnswers('client', clientAddress(family), [second], [first]);
    await use([web, other(false)], true);
    expectAnswers('client', clientAddress(family), [first], [second, clusterIPs[family]]);
  });
});
