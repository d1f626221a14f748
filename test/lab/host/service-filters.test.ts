import { once } from 'node:events';
import process from 'node:process';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { judgeServiceFilters, selectiveFilters, type ServiceFilterJudgement } from '../../../src/decisions/host/service-filters.ts';
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
  const tables = ['inet fw', ...['ip', 'ip6'].flatMap((family) => ['raw', 'mangle', 'filter', 'fw'].map((table) => `${family} ${table}`))];
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

/** Returns the frontends of which the client gets no answer. */
async function unanswered(): Promise<string[]> {
  const targets = frontends.map(({ match }) => (match.kind === 'address' ? [formatAddress(match.address), match.protocol] : []));
  const { stdout } = await lab.exec('client', [process.execPath, '-e', probe, JSON.stringify(targets)]);
  const answers = JSON.parse(stdout) as readonly boolean[];
  return keys.filter((_, index) => answers[index] !== true);
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
const iptables = (...lines: readonly string[]): string =>
  lines.flatMap((line) => [`iptables-nft ${line}`, `ip6tables-nft ${line}`]).join('\n');
const forwarded = [web4, web6, dns4, dns6];

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

  test.each<[string, string, string]>([
    [
      'a set',
      nft('forward', 0, 'policy drop', 'ip saddr @none accept', 'meta nfproto ipv6 accept', 'ct state established accept'),
      'ip saddr',
    ],
    ['a mark', nft('forward', 0, 'meta mark 1 accept', 'meta l4proto { tcp, udp } drop'), 'meta mark'],
    ['sources', nft('prerouting', -150, 'ip saddr != 10.0.0.0/8 drop'), 'the source address'],
    ['a limit', nft('forward', 0, 'policy drop', 'ct state established accept', 'limit rate 1000/second accept'), 'limit'],
    ['a mark, by iptables', iptables('-P FORWARD DROP', '-A FORWARD -m mark --mark 0x1 -j ACCEPT'), 'meta mark'],
  ])('%s: nothing is claimed, and the rule is named', async (_, rules, looksAt) => {
    await shell(rules);
    const { filtered, undecided } = await judge();
    expect(filtered).toEqual([]);
    expect([...new Set(undecided.map(({ code, details }) => (code === 'FilterNotDecided' ? details.looksAt : code)))]).toEqual([looksAt]);
  });
});
