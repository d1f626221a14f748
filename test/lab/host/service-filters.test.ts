import { once } from 'node:events';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { judgeServiceFilters, selectiveFilters, type ServiceFilterJudgement } from '../../../src/decisions/host/service-filters.ts';
import { judgeFilters } from '../../../src/decisions/host/filters.ts';
import { listHostFilters } from '../../../src/dataplane/host/filter-commands.ts';
import { remedyText } from '../../../src/model/reasons.ts';
import { address, formatAddress } from '../../../src/net/address.ts';
import { frontendKey, type Frontend, type Protocol } from '../../../src/net/frontend.ts';
import { inNamespace } from '../namespace.ts';
import { until } from '../until.ts';
import { labWithClientBackend, webAddresses, webServer } from './client-backend.ts';
import { documents, dualStackService, endpointSlices } from './objects.ts';
import { namespaceOf, nodeAddresses, type TwoNodes } from './two-nodes.ts';

/** The judgement of filters, compared with the packets of a client that cross the same kernel. */

/** Besides shop/web: one Service over UDP with the same backend, and one with an endpoint in the network of the node. */
const dnsAddresses = { 4: '10.96.0.21', 6: 'fd00:96::21' } as const;
const ownAddresses = { 4: '10.96.0.22', 6: 'fd00:96::22' } as const;
const clientAddresses = { 4: '10.71.1.2', 6: 'fd71:1::2' } as const;

const frontendsOf = (at: Readonly<Record<4 | 6, string>>, to: Readonly<Record<4 | 6, string>>, protocol: Protocol): Frontend[] =>
  ([4, 6] as const).map((family) => ({
    match: { kind: 'address', address: address(at[family]), protocol, port: 80 },
    scope: 'external',
    policy: 'Cluster',
    backends: [{ address: address(to[family]), port: 8080, local: false }],
    localBackends: [],
  }));
const frontends = [
  ...frontendsOf(webAddresses, clientAddresses, 'TCP'),
  ...frontendsOf(dnsAddresses, clientAddresses, 'UDP'),
  ...frontendsOf(ownAddresses, nodeAddresses.node1, 'TCP'),
];
const keys = frontends.map(({ match }) => frontendKey(match));
const [web4 = '', web6 = '', dns4 = '', dns6 = '', own4 = '', own6 = ''] = keys;

let lab: TwoNodes;

beforeAll(async () => {
  const echo =
    "require('node:dgram').createSocket('udp6').on('message', function (m, r) { this.send(m, r.port, r.address); }).bind(8080, '::')";
  lab = await labWithClientBackend(`(${echo}, ${webServer})`);
  const dns = endpointSlices('dns', clientAddresses, 'elsewhere').map((slice) => ({
    ...slice,
    ports: [{ name: 'http', port: 8080, protocol: 'UDP' }],
  }));
  await lab.write('20-dns.yaml', documents(dualStackService('dns', dnsAddresses, { port: { protocol: 'UDP' } }), ...dns));
  await lab.write('30-own.yaml', documents(dualStackService('own', ownAddresses), ...endpointSlices('own', nodeAddresses.node1, 'node1')));
  await lab.exec('client', ['ip', 'route', 'add', '10.96.0.0/24', 'via', '10.71.1.1']);
  await lab.exec('client', ['ip', 'route', 'add', 'fd00:96::/64', 'via', 'fd71:1::1']);
  const server = lab.spawn('node1', [process.execPath, '-e', `${webServer}.listen(8080, '::', () => console.log('up'))`]);
  if (server.stdout !== null) await once(server.stdout, 'data');
  await lab.startAgent('node1');
  await until('every frontend answers', async (note) => note(await unanswered()).length === 0, 60_000);
});

afterEach(async () => {
  const tables = [
    'inet fw',
    'netdev fw',
    ...['ip', 'ip6'].flatMap((family) => ['raw', 'mangle', 'filter', 'fw'].map((table) => `${family} ${table}`)),
  ];
  await shell(tables.map((table) => `nft delete table ${table} 2>/dev/null || true`).join('; '));
});

afterAll(async () => {
  await lab?.stop();
});

const shell = (script: string): Promise<unknown> => lab.exec('node1', ['sh', '-ec', script]);

/** Prints for each target whether it answers. Each gets two attempts of a second. */
const probe = `
  const { connect } = require('node:net');
  const { createSocket } = require('node:dgram');
  const once = ([host, protocol]) => new Promise((resolve) => {
    setTimeout(() => resolve(false), 1000).unref();
    if (protocol === 'TCP') return connect({ host, port: 80 }).on('connect', () => resolve(true)).on('error', () => resolve(false));
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4').on('message', () => resolve(true)).on('error', () => resolve(false));
    socket.send('x', 80, host, () => undefined);
  });
  Promise.all(JSON.parse(process.argv[1]).map(async (target) => (await once(target)) || (await once(target)))).then((all) => {
    console.log(JSON.stringify(all));
    process.exit(0);
  });`;

/** Prints for each target how many attempts were answered, a second each. */
const attempt = `
  const { connect } = require('node:net');
  const { createSocket } = require('node:dgram');
  const once = ([host, protocol]) => new Promise((resolve) => {
    setTimeout(() => resolve(0), 900);
    if (protocol === 'TCP') return connect({ host, port: 80 }).on('connect', () => resolve(1)).on('error', () => resolve(0));
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4').on('message', () => resolve(1)).on('error', () => resolve(0));
    socket.send('x', 80, host, () => undefined);
  });
  const [, targets, count] = process.argv;
  const tries = JSON.parse(targets).map((target) => Promise.all(Array.from({ length: Number(count) }, () => once(target))));
  Promise.all(tries).then((all) => {
    console.log(JSON.stringify(all.map((one) => one.reduce((sum, each) => sum + each, 0))));
    process.exit(0);
  });`;

/** Returns the frontends of which the client gets no answer. */
async function unanswered(): Promise<string[]> {
  const targets = frontends.map(({ match }) => (match.kind === 'address' ? [formatAddress(match.address), match.protocol] : []));
  const { stdout } = await lab.exec('client', [process.execPath, '-e', probe, JSON.stringify(targets)]);
  const answers = JSON.parse(stdout) as readonly boolean[];
  return keys.filter((_, index) => answers[index] !== true);
}

/** Returns how many of so many connections, which stay open, are answered. UDP: of so many clients. */
async function attempts(count: number): Promise<ReadonlyMap<string, number>> {
  const targets = frontends.map(({ match }) => (match.kind === 'address' ? [formatAddress(match.address), match.protocol] : []));
  const { stdout } = await lab.exec('client', [process.execPath, '-e', attempt, JSON.stringify(targets), String(count)]);
  const answers = JSON.parse(stdout) as readonly number[];
  return new Map(keys.map((key, index) => [key, answers[index] ?? 0]));
}

async function judge(): Promise<ServiceFilterJudgement> {
  const filters = await listHostFilters(async () => [], inNamespace(namespaceOf('node1'), []));
  const own: readonly string[] = Object.values(nodeAddresses.node1);
  return judgeServiceFilters(selectiveFilters(filters), 'shop/web', frontends, {
    node: 'node1',
    hasOthers: false,
    entries: ['uplink'],
    families: [4, 6],
    isOwn: (one) => own.includes(formatAddress(one)),
    pods: [],
  });
}

const lostIn = ({ filtered }: ServiceFilterJudgement): string[] =>
  filtered.flatMap(({ code, details }) => (code === 'ServiceFiltered' && details.share === 'all' ? details.frontends.split(', ') : []));

const nft = (hook: string, priority: number, ...rules: readonly string[]): string =>
  `nft -f - <<'END'\ntable inet fw {\n set none { type ipv4_addr; }\n chain user { ${rules
    .filter((rule) => rule.startsWith('user: '))
    .map((rule) => `${rule.slice(6)}\n`)
    .join(
      '',
    )} }\n chain c { type filter hook ${hook} priority ${priority};\n${rules.filter((rule) => !rule.startsWith('user: ')).join('\n')}\n }\n}\nEND`;
const netdev = (hook: 'ingress' | 'egress', ...rules: readonly string[]): string =>
  `nft -f - <<'END'\ntable netdev fw {\n chain c { type filter hook ${hook} device "uplink" priority 0;\n${rules.join('\n')}\n }\n}\nEND`;
const iptables = (...lines: readonly string[]): string =>
  lines.flatMap((line) => [`iptables-nft ${line}`, `ip6tables-nft ${line}`]).join('\n');
const forwarded = [web4, web6, dns4, dns6];

describe('tables of legacy iptables', () => {
  const inUse = async (family: 'ip' | 'ip6'): Promise<readonly string[]> => {
    const { stdout } = await lab.exec('node1', ['cat', `/proc/net/${family}_tables_names`]);
    return stdout.split('\n').filter((name) => name !== '');
  };
  const without = async (): Promise<unknown[]> => {
    // A directory with the nft command only.
    const hidden = await mkdtemp(join(tmpdir(), 'herald-lab-nft-'));
    try {
      await symlink(join('/usr/sbin', 'nft'), join(hidden, 'nft'));
      const filters = await listHostFilters(inUse, inNamespace(namespaceOf('node1'), ['/usr/bin/env', `PATH=${hidden}`]));
      return judgeFilters(filters, new Map()).map(({ code, details }) => [code, details]);
    } finally {
      await rm(hidden, { recursive: true });
    }
  };

  test('are named as not judged where their tools are missing, and not where no table exists', async () => {
    expect(await without()).toEqual([]);
    await shell('iptables-legacy -A FORWARD -p udp -j DROP; ip6tables-legacy -t raw -A PREROUTING -p udp -j DROP');
    expect(await unanswered()).toEqual([dns4, dns6]);
    expect(await without()).toEqual([
      ['FilterTablesUnread', { tables: 'filter of iptables', why: 'iptables-legacy is not installed, or cannot list them' }],
      ['FilterTablesUnread', { tables: 'raw of ip6tables', why: 'ip6tables-legacy is not installed, or cannot list them' }],
    ]);
    await shell('iptables-legacy -F FORWARD; ip6tables-legacy -t raw -F PREROUTING');
    expect(await unanswered()).toEqual([]);
  });
});

describe('filters of the node', () => {
  test.each<[string, string, readonly string[]]>([
    [
      'a policy that drops, with ports of Services accepted',
      nft('forward', 0, 'policy drop', 'ct state established accept', 'tcp dport { 80, 443 } accept'),
      forwarded,
    ],
    [
      'a policy that drops, with the target port accepted over TCP',
      nft('forward', 0, 'policy drop', 'ct state established accept', 'tcp dport 8080 accept'),
      [dns4, dns6],
    ],
    [
      'a map of states, and ports of Services',
      nft(
        'forward',
        0,
        'policy drop',
        'ct state vmap { established : accept, related : accept, invalid : drop }',
        'meta l4proto { tcp, udp } th dport 80 accept',
      ),
      forwarded,
    ],
    [
      'a map of states that accepts new connections',
      nft('forward', 0, 'policy drop', 'ct state vmap { established : accept, new : accept }'),
      [],
    ],
    [
      'a map of ports',
      nft('forward', 5, 'tcp dport vmap { 80 : drop, 8000-9000 : jump user }', 'user: ip6 daddr fd71:1::/64 reject'),
      [web6],
    ],
    ['a range of addresses', nft('forward', -10, 'ip daddr 10.71.1.0-10.71.1.9 counter drop'), [web4, dns4]],
    [
      'other addresses and ports',
      nft('forward', -10, 'ip daddr 10.72.0.0/16 drop', 'tcp dport 81 drop', 'ip6 daddr fd72::/16 udp dport 8080 drop'),
      [],
    ],
    ['the interface of clients, for new connections', nft('forward', 0, 'iifname "up*" udp dport 8080 ct state new drop'), [dns4, dns6]],
    ['all interfaces but that of clients', nft('forward', 0, 'iifname != "uplink" drop'), []],
    ['a chain that returns before it drops', nft('forward', 0, 'goto user', 'user: meta l4proto tcp return', 'user: drop'), [dns4, dns6]],
    ['translated packets accepted first', nft('forward', 0, 'policy drop', 'ct status dnat accept', 'reject'), []],
    ['ports of Services in prerouting, before connection tracking', nft('prerouting', -300, 'tcp dport 80 drop'), [web4, web6, own4, own6]],
    ['target ports in prerouting, before the translation', nft('prerouting', -150, 'tcp dport 8080 drop', 'udp dport 8080 drop'), []],
    ['an address in prerouting, shortly before the translation', nft('prerouting', -101, `ip daddr ${webAddresses[4]} drop`), [web4]],
    [
      'target ports in prerouting, after the translation',
      nft('prerouting', -50, 'iifname uplink udp dport 8080 drop', 'udp dport 80 drop'),
      [dns4, dns6],
    ],
    ['a check of the reverse path, with one uplink', nft('prerouting', -300, 'fib saddr . iif oif missing drop'), []],
    [
      'an input chain that accepts ports of Services',
      nft('input', 0, 'policy drop', 'meta l4proto { icmp, ipv6-icmp } accept', 'ct state established accept', 'tcp dport 80 accept'),
      [own4, own6],
    ],
    ['an input chain that rejects a target port', nft('input', 0, 'tcp dport 8080 reject'), [own4, own6]],
    ['ports of Services at ingress of the uplink', netdev('ingress', 'tcp dport { 80, 443 } drop'), [web4, web6, own4, own6]],
    [
      'addresses at ingress',
      netdev('ingress', `ip6 daddr ${dnsAddresses[6]} drop`, `ip daddr ${webAddresses[4]} udp dport 80 drop`),
      [dns6],
    ],
    [
      'a family at ingress',
      netdev('ingress', 'ether type ip udp dport 80 drop', 'meta protocol ip6 tcp dport 80 drop'),
      [dns4, web6, own6],
    ],
    ['target ports at ingress, before the translation', netdev('ingress', 'tcp dport 8080 drop', 'udp dport 8080 drop'), []],
    [
      'ports of Services at ingress of the family inet',
      nft('ingress device "uplink"', 0, 'udp dport 80 drop', 'ip6 nexthdr tcp ip6 daddr fd00:96::/64 drop'),
      [dns4, dns6, web6, own6],
    ],
    ['another interface at ingress', nft('ingress device "lo"', 0, 'drop'), []],
    [
      'answers of Services at egress',
      netdev('egress', 'udp sport 80 drop', `ip saddr ${webAddresses[4]} tcp sport 80 drop`),
      [dns4, dns6, web4],
    ],
    ['answers of endpoints at egress, after the translation', netdev('egress', 'tcp sport 8080 drop', 'ip saddr 10.72.0.0/16 drop'), []],
    [
      'a limit that lets new connections through',
      nft('forward', 0, 'tcp flags syn limit rate over 1/second log', 'limit rate 1/second accept'),
      [],
    ],
    [
      'iptables: policy DROP, ports of Services accepted',
      iptables(
        '-P FORWARD DROP',
        '-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
        '-A FORWARD -p tcp -m multiport --dports 80,443 -j ACCEPT',
      ),
      forwarded,
    ],
    [
      'iptables: policy DROP, the target port accepted',
      iptables(
        '-P FORWARD DROP',
        '-A FORWARD -m state --state ESTABLISHED -j ACCEPT',
        '-A FORWARD -p udp -m multiport --dports 53,8000:8080 -j ACCEPT',
      ),
      [web4, web6],
    ],
    [
      'iptables: a chain that rejects by ICMP',
      iptables('-N user', '-A user -p udp -m comment --comment "no -j DROP" -j REJECT', '-A FORWARD -j user'),
      [dns4, dns6],
    ],
    ['iptables: table raw', iptables('-t raw -A PREROUTING -i uplink -p tcp -m tcp --dport 80 -j DROP'), [web4, web6, own4, own6]],
    ['iptables: table mangle', iptables('-t mangle -A FORWARD -p tcp -m tcp --dport 8080 -j DROP'), [web4, web6]],
    ['iptables: REJECT on INPUT', iptables('-A INPUT -p tcp -j REJECT'), [own4, own6]],
    [
      'iptables: Docker',
      iptables(
        '-N DOCKER-USER',
        '-A FORWARD -j DOCKER-USER',
        '-A FORWARD -o docker0 -j ACCEPT',
        '-P FORWARD DROP',
        '-A DOCKER-USER -m conntrack --ctstate ESTABLISHED -j ACCEPT',
      ),
      forwarded,
    ],
  ])('%s: the judgement is what packets do, and the fix helps', async (_, rules, expected) => {
    await shell(rules);
    const judged = await judge();
    expect(lostIn(judged).toSorted()).toEqual([...expected].toSorted());
    expect(judged.undecided).toEqual([]);
    expect((await unanswered()).toSorted()).toEqual([...expected].toSorted());
    if (expected.length === 0) return;
    for (const because of judged.filtered)
      await shell(
        remedyText(because)
          .replace(/^run: /, '')
          .replace(/; or set .*/, ''),
      );
    expect(await unanswered()).toEqual([]);
    expect(await judge()).toEqual({ filtered: [], undecided: [] });
  });

  test.each<[string, string, readonly string[], string]>([
    [
      'a limit of connections at a time, at the hook forward',
      nft('forward', 0, 'ct state established accept', 'tcp dport 8080 ct state new ct count over 2 drop'),
      [web4, web6],
      'only 2 connections at a time pass',
    ],
    [
      'a limit before a policy that drops',
      nft('forward', 0, 'policy drop', 'ct state established accept', 'limit rate 2/minute burst 2 packets accept'),
      forwarded,
      'only 2 packets a minute pass',
    ],
    [
      'a limit in a set of sources, at the hook prerouting',
      `${nft('prerouting', -150, 'iif lo accept')}
      nft 'add set inet fw m { type ipv4_addr; size 100; flags dynamic; }'
      nft 'add rule inet fw c udp dport 80 add @m { ip saddr limit rate over 1/minute burst 1 packets } drop'`,
      [dns4],
      'only 1 packet of one source a minute passes',
    ],
    [
      'a limit at ingress',
      netdev(
        'ingress',
        'ip6 nexthdr tcp tcp flags & (fin | syn | rst | ack) == syn tcp dport 80 limit rate over 2/minute burst 1 packets drop',
      ),
      [web6, own6],
      'only 2 packets a minute pass',
    ],
    ['a share by chance', nft('input', 0, 'tcp dport 8080 numgen inc mod 3 != 0 drop'), [own4, own6], '2 of 3 packets are lost'],
    [
      'iptables: a chain that returns up to a limit',
      iptables(
        '-N flood',
        '-A FORWARD -p tcp --syn -j flood',
        '-A flood -m limit --limit 2/minute --limit-burst 1 -j RETURN',
        '-A flood -j DROP',
      ),
      [web4, web6],
      'only 2 packets a minute pass',
    ],
    [
      'iptables: hashlimit',
      iptables(
        '-A FORWARD -p udp --dport 8080 -m hashlimit --hashlimit-above 40/minute --hashlimit-burst 3 --hashlimit-mode srcip --hashlimit-name h -j DROP',
      ),
      [dns4, dns6],
      'only 40 packets of one source a minute pass',
    ],
    [
      'iptables: connlimit',
      iptables('-A FORWARD -p tcp --syn --dport 8080 -m connlimit --connlimit-above 2 -j REJECT'),
      [web4, web6],
      'only 2 connections of one source at a time pass',
    ],
  ])('%s: a share is lost, and the fix helps', async (_, rules, expected, how) => {
    await shell(rules);
    const judged = await judge();
    const limited = judged.filtered.flatMap(({ code, details }) => (code === 'ServiceLimited' ? [details] : []));
    expect(limited.length).toBe(judged.filtered.length);
    expect(judged.undecided).toEqual([]);
    expect(limited.flatMap(({ frontends: some }) => some.split(', ')).toSorted()).toEqual([...expected].toSorted());
    expect(limited.map((one) => one.how.replace(/, by rule.*/, ''))).toEqual(limited.map(() => how));
    const answers = await attempts(8);
    for (const key of keys) {
      const count = answers.get(key) ?? 0;
      if (!expected.includes(key)) expect([key, count]).toEqual([key, 8]);
      else expect([key, count < 8]).toEqual([key, true]);
    }
    // Frontends of one limit share it.
    expect(expected.some((key) => (answers.get(key) ?? 0) > 0)).toBe(true);
    for (const because of judged.filtered) await shell(remedyText(because).replace(/^.*, or run: /, ''));
    expect([...(await attempts(8)).values()]).toEqual(keys.map(() => 8));
  });

  test.each<[string, string, string]>([
    [
      'a set',
      nft('forward', 0, 'policy drop', 'ip saddr @none accept', 'meta nfproto ipv6 accept', 'ct state established accept'),
      'ip saddr',
    ],
    ['a mark', nft('forward', 0, 'meta mark 1 accept', 'meta l4proto { tcp, udp } drop'), 'meta mark'],
    ['sources', nft('prerouting', -150, 'ip saddr != 10.0.0.0/8 drop'), 'the source address'],
    ['a mark, by iptables', iptables('-P FORWARD DROP', '-A FORWARD -m mark --mark 0x1 -j ACCEPT'), 'meta mark'],
  ])('%s: nothing is claimed, and the rule is named', async (_, rules, looksAt) => {
    await shell(rules);
    const { filtered, undecided } = await judge();
    expect(filtered).toEqual([]);
    expect([...new Set(undecided.map(({ code, details }) => (code === 'FilterNotDecided' ? details.looksAt : code)))]).toEqual([looksAt]);
  });
});
