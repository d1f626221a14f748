import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { defined } from '../../src/lang/defined.ts';
import type { Family } from '../../src/net/address.ts';
import type { Protocol } from '../../src/net/frontend.ts';
import { shortTimeout, inside, nodeAddress, podAddress } from '../lab/dataplane/one-node.ts';
import { patience, until } from '../lab/until.ts';
import { BesideLab, heraldOnNode } from './beside/beside-lab.ts';
import { balancer, clusterIP, endpoints, service } from './beside/objects.ts';

/** Tests Herald and the real kube-proxy on one node. Each gets different endpoints, so an answer shows which of the two translated. */
const families: readonly Family[] = [4, 6];
const cells = families.flatMap((family) => (['TCP', 'UDP'] as const).map((protocol): [Family, Protocol] => [family, protocol]));
const client = (family: Family): string => (family === 4 ? '10.99.0.2' : 'fd99::2');
const eventually = { timeout: patience, interval: 200 };

let lab: BesideLab;

beforeAll(async () => {
  lab = await BesideLab.start();
});

afterAll(async () => {
  await lab?.stop();
});

const nameOf = (answers: readonly string[]): string[] => [...new Set(answers.map((answer) => answer.split(' ')[0] ?? ''))];
const host = (): string[] => (lab.states.at(-1)?.host ?? []).map(({ code }) => code);

/** Waits until kube-proxy forwards to its latest endpoints. */
async function proxyHas(pod: string, to: (family: Family) => string): Promise<void> {
  for (const [family, protocol] of cells) {
    await until(
      `kube-proxy sends ${protocol} to ${to(family)} to ${pod}`,
      async () => nameOf(await lab.ask({ from: 'pod2', protocol, to: to(family), count: 2 })).join() === pod,
      eventually.timeout,
    );
  }
}

describe.each(['nftables', 'iptables'] as const)('scope external beside kube-proxy in mode %s', (mode) => {
  beforeAll(async () => {
    lab.put(
      service('both', { host: 1 }),
      service('local', { host: 2, externalTrafficPolicy: 'Local' }),
      service('ranged', { host: 3, sourceRanges: ['10.99.0.2/32', 'fd99::2/128'] }),
      service('ahead', { host: 4 }),
      service('behind', { host: 5 }),
      service('empty', { host: 6 }),
    );
    // Herald and kube-proxy get different pods: an answer from pod1 comes through Herald, one from pod3 through kube-proxy.
    for (const name of ['both', 'ranged']) {
      lab.putHerald(...endpoints(name, 1));
      lab.putProxy(...endpoints(name, 3));
    }
    lab.putHerald(...endpoints('local', 1), ...endpoints('ahead', 1), ...endpoints('behind'), ...endpoints('empty'));
    lab.putProxy(...endpoints('local', 1, 3), ...endpoints('ahead'), ...endpoints('behind', 3), ...endpoints('empty'));
    lab.startProxy(mode);
    await proxyHas('pod3', (family) => clusterIP(family, 1));
    await lab.startAgent('external');
  });

  afterAll(() => lab.reset());

  describe.each(cells)('IPv%i %s', (family, protocol) => {
    const ask = (to: string, more: Partial<Parameters<BesideLab['ask']>[0]> = {}) => lab.ask({ protocol, to, ...more });

    test('Herald wins where both have a frontend, and a packet is masqueraded once', async () => {
      expect(await ask(balancer(family, 1))).toEqual([expect.stringMatching(/^pod1 /)]);
      expect(await ask(balancer(family, 1))).not.toEqual([`pod1 ${client(family)}`]);
      expect(nameOf(await ask(nodeAddress(family), { port: 30_001 }))).toEqual(['pod1']);
      // Also from a pod, from the endpoint itself and from the node.
      expect(nameOf(await ask(balancer(family, 1), { from: 'pod2' }))).toEqual(['pod1']);
      expect(nameOf(await ask(balancer(family, 1), { from: 'pod1' }))).toEqual(['pod1']);
      expect(nameOf(await ask(balancer(family, 1), { from: 'node' }))).toEqual(['pod1']);
    });

    test('kube-proxy alone handles a ClusterIP, its unused ports and unallocated ClusterIPs', async () => {
      expect(nameOf(await ask(clusterIP(family, 1), { from: 'pod2' }))).toEqual(['pod3']);
      expect(inside('node', `nft list set ${family === 4 ? 'ip' : 'ip6'} herald cluster_ips`)).not.toContain('elements');
      expect(inside('node', `nft list set ${family === 4 ? 'ip' : 'ip6'} herald service_prefixes`)).not.toContain('elements');
    });

    test("policy Local keeps the client's address and uses the endpoint of the node", async () => {
      expect(await ask(balancer(family, 2))).toEqual([`pod1 ${client(family)}`]);
      expect(await ask(nodeAddress(family), { port: 30_002 })).toEqual([`pod1 ${client(family)}`]);
      expect(await ask(balancer(family, 2), { from: 'pod2' })).toEqual([`pod1 ${podAddress(family, 2)}`]);
    });

    test('source ranges are enforced, whichever of the two drops', async () => {
      expect(nameOf(await ask(balancer(family, 3)))).toEqual(['pod1']);
      const blocked = { localAddress: family === 4 ? '10.99.0.6' : 'fd99::6', count: 1, timeout: shortTimeout };
      expect(await ask(balancer(family, 3), blocked)).toEqual(['TIMEOUT']);
    });

    test('Herald reaches an endpoint that kube-proxy does not know yet and refuses', async () => {
      expect(nameOf(await ask(clusterIP(family, 4), { from: 'pod2' }))).toEqual(['ECONNREFUSED']);
      expect(nameOf(await ask(balancer(family, 4)))).toEqual(['pod1']);
      expect(nameOf(await ask(nodeAddress(family), { port: 30_004 }))).toEqual(['pod1']);
    });

    test('kube-proxy forwards a Service without an endpoint at Herald', async () => {
      expect(nameOf(await ask(balancer(family, 5)))).toEqual(['pod3']);
      expect(nameOf(await ask(nodeAddress(family), { port: 30_005 }))).toEqual(['pod3']);
    });

    test("a Service without any endpoint is refused, TCP by Herald's reset and not by kube-proxy's ICMP", async () => {
      inside('client', 'nft add table inet seen', 'nft add chain inet seen arriving { type filter hook input priority 0 ; }');
      const errors = family === 4 ? 'icmp type destination-unreachable' : 'icmpv6 type destination-unreachable';
      inside('client', `nft add rule inet seen arriving ${errors} counter`);
      expect(await ask(balancer(family, 6))).toEqual(['ECONNREFUSED']);
      expect(await ask(nodeAddress(family), { port: 30_006 })).toEqual(['ECONNREFUSED']);
      const [, packets] = /packets (\d+)/.exec(inside('client', 'nft list table inet seen')) ?? [];
      inside('client', 'nft delete table inet seen');
      expect(packets).toBe(protocol === 'TCP' ? '0' : '24');
    });
  });

  test('routes of load balancer addresses do not wait for kube-proxy, and those of ClusterIPs do', async () => {
    const announced = (text: string): boolean => lab.routes.includes(`announce ${text} to tor1`);
    expect([announced('192.0.2.4/32'), announced('fd09::4/128')]).toEqual([true, true]);
    expect([announced('172.30.0.1/32'), announced('fd02::1/128')]).toEqual([true, true]);
    expect([announced('172.30.0.4/32'), announced('fd02::4/128')]).toEqual([false, false]);
    lab.putProxy(...endpoints('ahead', 3));
    await expect.poll(() => [announced('172.30.0.4/32'), announced('fd02::4/128')], eventually).toEqual([true, true]);
    expect(host()).not.toContain('MasqueradeBitShared');
  });

  test('Herald keeps forwarding when kube-proxy starts after it and creates its chains again', async () => {
    await lab.stopProxy();
    // The flush does not remove Herald's tables, because Herald owns them.
    inside('node', 'nft flush ruleset');
    for (const family of families) expect(nameOf(await lab.ask({ to: balancer(family, 1) }))).toEqual(['pod1']);
    lab.startProxy(mode);
    await proxyHas('pod3', (family) => clusterIP(family, 1));
    for (const [family, protocol] of cells) expect(nameOf(await lab.ask({ protocol, to: balancer(family, 1) }))).toEqual(['pod1']);
  });
});

describe.each(['nftables', 'iptables'] as const)('scope none with kube-proxy in mode %s', (mode) => {
  afterAll(() => lab.reset());

  test("routes wait for kube-proxy's rules and go with them, and Herald has no rules", async () => {
    const routes = (): string[] => lab.routes.filter((line) => / (?:192\.0\.2\.1|fd09::1)\//.test(line));
    lab.put(service('both', { host: 1 }));
    lab.putHerald(...endpoints('both', 1));
    lab.putProxy(...endpoints('both'));
    lab.startProxy(mode);
    await expect.poll(() => rulesOfKubeProxy(mode), eventually).toBe(true);
    await lab.startAgent('none');
    expect(routes()).toEqual([]);
    await expect
      .poll(
        () => lab.states.at(-1)?.differing.map(({ service, aspect, reason }) => `${service} ${aspect} ${reason.code}`) ?? [],
        eventually,
      )
      .toContain('default/both Programmed AwaitsForwarding');
    lab.putProxy(...endpoints('both', 3));
    await expect.poll(() => routes().toSorted(), eventually).toEqual(['announce 192.0.2.1/32 to tor1', 'announce fd09::1/128 to tor1']);
    // A route is announced after kube-proxy's rule exists, so it works at once.
    for (const [family, protocol] of cells) expect(nameOf(await lab.ask({ protocol, to: balancer(family, 1) }))).toEqual(['pod3']);
    expect(inside('node', 'nft list tables')).not.toContain('herald');
    // The rules stay when kube-proxy stops, and the routes with them.
    await lab.stopProxy();
    lab.routes.length = 0;
    inside('node', 'nft flush ruleset');
    await expect.poll(() => routes().toSorted(), eventually).toEqual(['withdraw 192.0.2.1/32 to tor1', 'withdraw fd09::1/128 to tor1']);
    await expect.poll(host, eventually).toContain('ForwardingNotSeen');
  });
});

test('UDP clients that keep their port keep their pod, whichever program translates new ones', async () => {
  const clients = families.flatMap((family) =>
    [balancer(family, 1), clusterIP(family, 1)].flatMap((address) => [0, 1, 2, 3].map((n) => ({ address, port: 41_000 + n }))),
  );
  const pods = async (): Promise<string[]> => {
    const outcomes = await lab.lab.requests(
      'client',
      clients.map(({ address, port }) => ({
        protocol: 'UDP',
        address,
        port: 80,
        localPort: port + (address.includes(':') ? 10 : 0) + (/^(?:192|fd09)/.test(address) ? 20 : 0),
      })),
    );
    return outcomes.map(({ answers }) => answers.join());
  };
  lab.put(service('both', { host: 1 }), ...endpoints('both', 1, 2, 3));
  lab.startProxy();
  await until(
    'kube-proxy forwards',
    async () =>
      nameOf(await lab.ask({ from: 'pod2', to: balancer(6, 1), count: 2 }))
        .join()
        .includes('pod'),
    eventually.timeout,
  );
  await lab.startAgent('all');
  const before = await pods();
  expect(nameOf(before).toSorted()).toEqual(['pod1', 'pod2', 'pod3']);
  for (const services of ['external', 'none', 'external', 'all', 'none', 'all'] as const) {
    lab.scope(services);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await lab.settled();
    expect({ services, pods: await pods() }).toEqual({ services, pods: before });
  }
  await lab.reset();
});

test('source ranges that kube-proxy leaves behind in mode nftables drop until they are removed', async () => {
  const blocked = (family: Family, timeout?: number) => {
    const localAddress = family === 4 ? '10.99.0.6' : 'fd99::6';
    return lab.ask({ to: balancer(family, 1), localAddress, count: 1, ...defined({ timeout }) }).then(nameOf);
  };
  lab.put(service('both', { host: 1, sourceRanges: ['10.99.0.2/32', 'fd99::2/128'] }), ...endpoints('both', 1));
  lab.startProxy();
  await proxyHas('pod1', (family) => clusterIP(family, 1));
  await lab.startAgent('all');
  await lab.stopProxy();
  lab.put(service('both', { host: 1 }));
  await lab.settled();
  for (const family of families) expect(await blocked(family, shortTimeout)).toEqual(['TIMEOUT']);
  expect((await heraldOnNode('agent', '--cleanup-kube-proxy')).code).toBe(0);
  for (const family of families) expect(await blocked(family)).toEqual(['pod1']);
  await lab.reset();
});

function rulesOfKubeProxy(mode: 'nftables' | 'iptables'): boolean {
  const listing = mode === 'nftables' ? inside('node', 'nft list tables') : inside('node', 'ip6tables-nft-save');
  return listing.includes(mode === 'nftables' ? 'table ip6 kube-proxy' : ':KUBE-SERVICES');
}

describe.each(['nftables', 'iptables'] as const)('changes of scope with kube-proxy in mode %s', (mode) => {
  afterEach(() => lab.reset());

  /** Keeps connections open and opens new ones all the time while `during` runs. Fails when one of them fails. */
  async function undisturbed(during: () => Promise<void>): Promise<void> {
    const staying = await Promise.all(
      families.flatMap((family) => [balancer(family, 1), clusterIP(family, 1)].map((to) => lab.lab.connection('client', to, 80))),
    );
    const over = new AbortController();
    const asking = (async () => {
      const wrong: string[] = [];
      while (!over.signal.aborted) {
        for (const [family, protocol] of cells) {
          for (const to of [balancer(family, 1), clusterIP(family, 1)]) {
            const answers = await lab.ask({ protocol, to, count: 20 });
            wrong.push(...nameOf(answers).filter((name) => name !== 'pod1'));
          }
        }
      }
      return wrong;
    })();
    try {
      await during();
    } finally {
      over.abort();
    }
    expect(await asking).toEqual([]);
    const ends = await Promise.all(staying.map((one) => one.end()));
    expect(ends.map(({ failure }) => failure)).toEqual(['', '', '', '']);
  }

  test('no connection is lost, and what kube-proxy leaves is removed', async () => {
    lab.put(service('both', { host: 1 }), ...endpoints('both', 1));
    lab.startProxy(mode);
    await proxyHas('pod1', (family) => balancer(family, 1));
    await lab.startAgent('none');
    await undisturbed(async () => {
      for (const services of ['external', 'all', 'external', 'none', 'all'] as const) {
        lab.scope(services);
        // Rules of frontends that left the scope drain for one second.
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        await lab.settled();
      }
      expect(lab.routes.filter((line) => line.startsWith('withdraw'))).toEqual([]);
      expect(host()).toContain('KubeProxyBeside');
      const refused = await heraldOnNode('agent', '--cleanup-kube-proxy');
      expect(refused).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('a kube-proxy runs on this node (process ') });
      await lab.stopProxy();
      const { code, stdout } = await heraldOnNode('agent', '--cleanup-kube-proxy');
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringMatching(mode === 'nftables' ? /^removed table ip kube-proxy\n/ : /chains.* in table nat of iptables-nft\n/),
      });
      await expect.poll(host, eventually).not.toContain('KubeProxyBeside');
    });
    expect(inside('node', 'nft list ruleset')).not.toMatch(/kube-proxy|KUBE-(?!FIREWALL)/);
    expect(await heraldOnNode('agent', '--cleanup-kube-proxy')).toMatchObject({
      code: 0,
      stdout: 'this node has nothing of kube-proxy\n',
    });
  });

  test("the cleanup keeps kube-proxy's rules when Herald does not forward ClusterIPs", async () => {
    lab.put(service('both', { host: 1 }), ...endpoints('both', 1));
    lab.startProxy(mode);
    await proxyHas('pod1', (family) => balancer(family, 1));
    await lab.startAgent('external');
    await lab.stopProxy();
    const { code, stderr } = await heraldOnNode('agent', '--cleanup-kube-proxy');
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('Herald forwards no ClusterIPs on this node') });
    expect(rulesOfKubeProxy(mode)).toBe(true);
  });
});
