import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { EndpointConnections } from '../../src/agent/live/endpoint-connections.ts';
import { connectionTally } from '../../src/dataplane/conntrack/connection-tally.ts';
import { decideForwarding } from '../../src/decisions/forwarding/plan.ts';
import { NftablesDataplane } from '../../src/dataplane/nftables/nftables.ts';
import { machinePorts } from '../../src/dataplane/nftables/ports.ts';
import { LiveQuery } from '../../src/live/query.ts';
import type { LiveEndpointConnections } from '../../src/live/contract.ts';
import type { Family } from '../../src/net/address.ts';
import { prefix } from '../../src/net/prefix.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { netfilterProtocol, openNetlink } from '../../src/system/netlink/socket.ts';
import { namespaceNamed } from '../support/namespace-named.ts';
import { cluster } from '../unit/decisions/fixtures.ts';
import { clientAddress, inside, namespaceOf, nodeAddress, OneNode, podAddress, podPort } from './dataplane/one-node.ts';
import type { StayingConnection } from './dataplane/staying-connection.ts';

/** One node with real nftables and connections of a client and of a pod; what the kernel itself lists is the judge. */
const families: readonly Family[] = [4, 6];
const nodePort = 30_080;
const balanced = (family: Family): string => (family === 4 ? '203.0.113.1' : '2001:db8::1');
const clusterIP = (family: Family): string => (family === 4 ? '172.30.0.1' : 'fd02::1');
const ports = ['tcp:80/TCP', 'udp:80/UDP', 'sctp:80/SCTP'];

const snapshot = cluster({
  nodes: [{ name: 'here', internalIPs: families.map(nodeAddress) }, { name: 'there' }],
  services: ['web', 'other'].map((name, index) => ({
    name,
    ipFamilies: families,
    loadBalancing: 'round-robin' as const,
    clusterIPs: families.map((family) => clusterIP(family) + (index === 0 ? '' : '0')),
    assigned: index === 0 ? families.map(balanced) : [],
    ports: index === 0 ? ports.map((port) => `${port}@${nodePort}`) : ports,
  })),
  slices: ['web', 'other'].flatMap((service) =>
    families.map((family) => ({
      service,
      name: `${service}-${family}`,
      family,
      ports: ['TCP', 'UDP', 'SCTP'].map((protocol) => `${protocol.toLowerCase()}:${podPort}/${protocol}`),
      endpoints: [`${podAddress(family, 1)}@here`, `${podAddress(family, 2)}@here`],
    })),
  ),
});

let lab: OneNode;
let dataplane: NftablesDataplane;
let staying: StayingConnection[] = [];

beforeAll(async () => {
  lab = await OneNode.start();
  for (const family of families) inside('client', `ip -${family} route add ${balanced(family)} via ${nodeAddress(family)}`);
  inside('node', 'sysctl -qw net.netfilter.nf_conntrack_acct=1');
  dataplane = new NftablesDataplane(machinePorts(systemClock, silentLog, { own: false, namespace: namespaceNamed(namespaceOf('node')) }));
  const node = {
    nodePortAddresses: [prefix('10.99.0.1/32'), prefix('fd99::1/128')],
    podPrefixes: [prefix('10.244.0.0/16'), prefix('fd01::/64')],
    servicePrefixes: [],
    masqueradeBit: 14,
  };
  const services = [...snapshot.services].map(([key, service]) => [key, decideForwarding(snapshot, service, 'here').forwarding] as const);
  const forwardings = new Map(services.flatMap(([key, forwarding]) => (forwarding === undefined ? [] : [[key, forwarding] as const])));
  expect((await dataplane.replace(node, forwardings)).quarantined).toEqual(new Map());
});

afterEach(async () => {
  await Promise.all(staying.map((one) => one.end()));
  staying = [];
  inside('node', 'conntrack -F');
});

afterAll(async () => {
  await dataplane?.close();
  lab?.stop();
});

/** A new counter each time, so that nothing is used again. */
async function counted(service?: string): Promise<readonly LiveEndpointConnections[]> {
  const open = () => openNetlink({ protocol: netfilterProtocol, networkNamespace: `/run/netns/${namespaceOf('node')}` });
  const interfaces = families.map((family) => ({ address: nodeAddress(family) }));
  const connections = new EndpointConnections(
    {
      clock: systemClock,
      dataplane,
      host: { interfaces: () => interfaces as never },
      tallyConnections: connectionTally(systemClock, open),
    },
    {
      snapshot: () => snapshot,
      frontendsOf: (key) => {
        const found = snapshot.services.get(key);
        return found === undefined ? [] : (decideForwarding(snapshot, found, 'here').forwarding?.frontends ?? []);
      },
    },
  );
  const parameters = new URLSearchParams(service === undefined ? {} : { service });
  return (await connections.list(new LiveQuery(parameters, ['service']))).items;
}

const stay = async (from: 'client' | 'pod2', to: string, port: number): Promise<void> =>
  void staying.push(await lab.connection(from, to, port));

const endpoint = (family: Family, pod: number): string =>
  family === 4 ? `${podAddress(family, pod)}:${podPort}` : `[${podAddress(family, pod)}]:${podPort}`;

const totals = (items: readonly LiveEndpointConnections[]) =>
  items.map(({ service, protocol, endpoint: pod, active, inactive }) => [service, protocol, pod, active, inactive]);

/** The kernel's own list of TCP connections to a pod, by the conntrack command. */
function listed(family: Family, pod: number, state: 'ESTABLISHED' | 'others'): number {
  const lines = inside('node', `conntrack -L -p tcp --reply-src ${podAddress(family, pod)}`)
    .split('\n')
    .filter((line) => line.startsWith('tcp'));
  return lines.filter((line) => line.includes(' ESTABLISHED ') === (state === 'ESTABLISHED')).length;
}

describe.each(families)('connections by endpoint, IPv%i', (family) => {
  test('open and ended TCP connections at the address, the ClusterIP and the NodePort are counted once', async () => {
    for (let time = 0; time < 2; time++) {
      await stay('client', balanced(family), 80);
      await stay('client', nodeAddress(family), nodePort);
      await stay('pod2', clusterIP(family), 80);
    }
    await lab.request('client', { protocol: 'TCP', address: balanced(family), port: 80, count: 4 });
    const found = await counted('default/web');
    expect(totals(found)).toEqual(
      [1, 2].map((pod) => ['default/web', 'TCP', endpoint(family, pod), listed(family, pod, 'ESTABLISHED'), listed(family, pod, 'others')]),
    );
    expect(found.reduce((sum, { active }) => sum + active, 0)).toBe(6);
    expect(found.reduce((sum, { inactive }) => sum + inactive, 0)).toBe(4);
  });

  test('UDP flows are active once they were answered, and packets are those that the kernel counts', async () => {
    await lab.request('client', { protocol: 'UDP', address: balanced(family), port: 80, count: 6 });
    const found = await counted('default/web');
    expect(totals(found)).toEqual([1, 2].map((pod) => ['default/web', 'UDP', endpoint(family, pod), 3, 0]));
    for (const { packets } of found) expect(packets).toEqual({ in: 3, out: 3 });
  });

  test('SCTP associations are listed by their state', async () => {
    const command = (port: number, state: string): string =>
      `conntrack -I -p sctp -s ${clientAddress(family)} -d ${balanced(family)} --sport ${port} --dport 80 ` +
      `--dst-nat ${podAddress(family, 1)} --state ${state} --orig-vtag 1 --reply-vtag 2 -t 100`;
    // The command keeps the port.
    const pod = endpoint(family, 1).replace(/\d+$/, '80');
    inside('node', command(4001, 'ESTABLISHED'), command(4002, 'COOKIE_WAIT'));
    expect(totals(await counted('default/web'))).toEqual([['default/web', 'SCTP', pod, 1, 1]]);
  });

  test('other Services, and connections that are not translated, are left out', async () => {
    await stay('client', balanced(family), 80);
    await stay('client', podAddress(family, 2), podPort);
    await stay('pod2', `${clusterIP(family)}0`, 80);
    expect(totals(await counted('default/web'))).toHaveLength(1);
    expect(totals(await counted('default/other'))).toHaveLength(1);
    const all = await counted();
    expect(all.map(({ service, active }) => [service, active])).toEqual([
      ['default/other', 1],
      ['default/web', 1],
    ]);
  });
});

test('a kernel that does not count packets gives connections without them', async () => {
  inside('node', 'sysctl -qw net.netfilter.nf_conntrack_acct=0');
  try {
    await stay('client', balanced(4), 80);
    const [one] = await counted('default/web');
    expect([one?.active, one?.packets]).toEqual([1, undefined]);
  } finally {
    inside('node', 'sysctl -qw net.netfilter.nf_conntrack_acct=1');
  }
});
