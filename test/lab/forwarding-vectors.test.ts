import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NftablesDataplane } from '../../src/dataplane/nftables/nftables.ts';
import { machinePorts, namespaceNamed } from '../../src/dataplane/nftables/ports.ts';
import type { Family } from '../../src/net/address.ts';
import type { NodeForwarding, Protocol, ServiceForwarding } from '../../src/net/frontend.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { placeAddress, places, play, type PacketRow, type Place, type Scenario } from '../vectors/scenario.ts';
import { scenarios } from '../vectors/scenarios.ts';
import { inside, machines, namespaceOf, OneNode, podPort, type Machine, type Outcome, type Request } from './dataplane/one-node.ts';

const families: readonly Family[] = [4, 6];
const protocols: readonly Protocol[] = ['TCP', 'UDP'];

let lab: OneNode;
let dataplane: NftablesDataplane;
let present: ReadonlySet<string> = new Set();

beforeAll(async () => {
  lab = await OneNode.start();
  dataplane = new NftablesDataplane(machinePorts(systemClock, silentLog, { own: false, namespace: namespaceNamed(namespaceOf('node')) }));
  const nothing: NodeForwarding = { nodePortAddresses: [], podPrefixes: [], servicePrefixes: [], masqueradeBit: 14 };
  await dataplane.replace(nothing, new Map());
});

afterAll(async () => {
  await dataplane?.close();
  lab?.stop();
});

/** Both families of a scenario as one node has them, in place of the scenario before. */
async function program(scenario: Scenario, protocol: Protocol): Promise<{ family: Family; row: PacketRow }[]> {
  const played = families.map((family) => ({ family, ...play(scenario, family, protocol) }));
  const services = new Map<string, ServiceForwarding | undefined>([...present].map((key) => [key, undefined]));
  for (const { family, services: own } of played) for (const [key, forwarding] of own) services.set(`${key} IPv${family}`, forwarding);
  present = new Set(services.keys());
  const result = await dataplane.apply(services);
  expect([...result.quarantined]).toEqual([]);
  await dataplane.setNode({
    nodePortAddresses: played.flatMap(({ forwarding }) => forwarding.nodePortAddresses),
    podPrefixes: played.flatMap(({ forwarding }) => forwarding.podPrefixes),
    servicePrefixes: played.flatMap(({ forwarding }) => forwarding.servicePrefixes),
    masqueradeBit: 14,
  });
  // A port that a client uses again would go where the last scenario sent it.
  inside('node', 'conntrack -F');
  return played.flatMap(({ family, packets }) => packets.map((row) => ({ family, row })));
}

function requestOf({ family, row }: { family: Family; row: PacketRow }): Request {
  const backends = row.fate.split(' ').length;
  const [address, localAddress] = [placeAddress(row.to, family), placeAddress(row.from, family)];
  const base = { protocol: row.protocol, address, port: row.port, localAddress };
  if (['dropped', 'untouched'].includes(row.fate)) return { ...base, count: 1 };
  // One of three is missed by chance once in four million times.
  return { ...base, count: row.fate === 'refused' ? 5 : backends === 1 ? 6 : 40, timeout: 1_500 };
}

/** "pod1* pod3": who answered, the star for those that did not see the client's own address. Else what became of it. */
function fateOf(from: Place, family: Family, { answers }: Outcome): string {
  const fates = answers.map((answer) => {
    const [who = '', client] = answer.split(' ');
    if (client === undefined) return { TIMEOUT: 'dropped', ECONNREFUSED: 'refused' }[who] ?? who;
    return `${who}${client === placeAddress(from, family) ? '' : '*'}`;
  });
  return [...new Set(fates)].toSorted().join(' ');
}

/** What nobody translates ends in many ways, but at no pod other than the one it was sent to. */
function agrees({ from, to, fate }: PacketRow, seen: string): boolean {
  if (fate === 'untouched') return seen === to || !seen.includes('pod');
  if (machineOf(from) !== 'node') return seen === fate;
  // The kernel tells a local sender of a datagram that it may not be sent, refused or dropped.
  if (seen === 'EPERM') return fate === 'refused' || fate === 'dropped';
  // Any address of the node may stand for the node.
  return seen.replaceAll('*', '') === fate.replaceAll('*', '');
}

/** Who has the address that a packet comes from; the node takes a load balancer's where a scenario asks for it. */
function machineOf(place: Place): Machine {
  if (place === 'blocked') return 'client';
  return machines.find((machine) => machine === place) ?? 'node';
}

describe.each(protocols)('what becomes of packets, %s', (protocol) => {
  test.each(scenarios)('$name', async (scenario) => {
    const rows = await program(scenario, protocol);
    const seen: string[] = [];
    const byMachine = Map.groupBy(rows, ({ row }) => machineOf(row.from));
    const loopback = families.map((family) => `${placeAddress('external1', family)} dev lo`);
    const asVip = byMachine.get('node')?.some(({ row }) => row.from === 'external1') === true;
    if (asVip) inside('node', ...loopback.map((text) => `ip addr add ${text}`));
    await Promise.all(
      [...byMachine].map(async ([machine, own]) => {
        const outcomes = await lab.requests(machine, own.map(requestOf));
        for (const [index, { family, row }] of own.entries()) {
          const outcome = outcomes[index];
          const fate = outcome === undefined ? 'not tried' : fateOf(row.from, family, outcome);
          if (!agrees(row, fate)) seen.push(`IPv${family} ${row.text}: ${fate}`);
        }
      }),
    );
    if (asVip) inside('node', ...loopback.map((text) => `ip addr del ${text}`));
    expect(seen.toSorted()).toEqual([]);
  });
});

test('the lab has the places', () => {
  expect(places.pod1[0]).toBe(inside('pod1', 'ip -4 -o addr show dev eth0').split(/\s+|\//)[3]);
  expect(podPort).toBe(8080);
});
