import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { CheckReport } from '../../src/explain/check/facts.ts';
import { debugPaths } from '../../src/live/contract.ts';
import { requestLocal } from '../../src/system/http/local-socket.ts';
import type { CommandResult } from './command.ts';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { untilNextHops, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

const program = join(import.meta.dirname, '../../bin/herald');
const nodes = ['node1', 'node2', 'node3'] as const;
const sinkPort = 9090;

let lab: Lab;
let herald: HeraldInLab;
/** Undoes what a test broke. */
const repairs: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const ports = [8080];
  lab = await Lab.start(standardTopology({ pods: nodes.map((node, index) => ({ name: `web-${index + 1}`, node, ports })) }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  await herald.start(nodes);
  const addresses = await herald.untilAssigned('shop/web', 2);
  for (const tor of ['tor1', 'tor2'])
    for (const address of addresses) await untilNextHops(lab, tor, address, viaNodes(tor, nodes, address));
});

afterEach(async () => {
  for (const repair of repairs.splice(0).toReversed()) await repair();
});

afterAll(async () => {
  await lab?.stop();
});

/** Runs `herald check service` on the machine of the client, which may use the sockets of all agents. */
function check(service: string, ...words: readonly string[]): Promise<CommandResult> {
  const sockets = nodes.flatMap((node) => ['--socket', herald.socket(node)]);
  const command = [program, 'check', 'service', service, '--source', herald.directory, ...sockets, ...words];
  return lab.machine('client').exec(command, { check: false });
}

async function report(service: string, ...words: readonly string[]): Promise<CheckReport & { readonly code: number }> {
  const { stdout, stderr, code } = await check(service, '-o', 'json', ...words);
  expect(stderr).toBe('');
  return { ...(JSON.parse(stdout) as CheckReport), code };
}

/** "node1 10.244.3.10:8080/TCP refused", of the probes that failed. */
const failuresOf = ({ probes }: CheckReport): string[] =>
  probes
    .filter(({ judgement }) => judgement === 'failed')
    .map(({ from, to, protocol, result }) => `${from ?? 'client'} ${to}/${protocol} ${result}`)
    .toSorted();

async function drop(machine: string, hook: 'forward' | 'output', match: string): Promise<void> {
  const rules = `table inet broken { chain c { type filter hook ${hook} priority 0; ${match} drop; }; }`;
  await lab.machine(machine).exec(['nft', rules]);
  repairs.push(() => lab.machine(machine).exec(['nft', 'delete table inet broken']));
}

const vtysh = (tor: string): string => `${tor}=vtysh -N ${lab.machine(tor).namespace} -c "show bgp {family} unicast {prefix} json"`;

test('a healthy Service is reached from every node and from the client, and routers use its routes', async () => {
  const routers = ['tor1', 'tor2', 'spine'].flatMap((tor) => ['--router', vtysh(tor)]);
  const { stdout, stderr, code } = await check('shop/web', ...routers);
  expect([stderr, code]).toEqual(['', 0]);
  const [verdict] = stdout.split('\n');
  expect(verdict).toBe('Every node reaches every endpoint and all 8 addresses and ports for clients; the client here too.');
  expect(stdout).toMatch(/\n {2}tor1: .*198\.51\.100\.10\/32.* by 10\.1\.0\.11, 10\.1\.0\.12 and 10\.1\.0\.13\n/);
  expect(stdout).toMatch(/\n {2}spine: .*2001:db8:100::10\/128.* by fd00:8:1::2 and fd00:8:2::2\n/);
  // One screen.
  expect(stdout.split('\n').length).toBeLessThan(24);
  const { probes, checked } = await report('shop/web');
  expect(checked).toEqual(nodes);
  expect(new Set(probes.map(({ protocol, what }) => `${what} ${protocol}`))).toEqual(
    new Set(['endpoint TCP', 'endpoint UDP', 'address TCP', 'address UDP', 'size ICMP']),
  );
  expect(probes.filter(({ to }) => to.startsWith('[fd00:244:')).length).toBe(3 * 3 * 2);
});

test('a pod that listens on 127.0.0.1 only is refused from every node, in both families and protocols', async () => {
  await lab.pod('web-3').kill();
  repairs.push(() => lab.pod('web-3').restart());
  const listen = `require('net').createServer().listen(8080, '127.0.0.1', () => console.log('listening'))`;
  const server = lab.pod('web-3').spawn([process.execPath, '-e', listen], { name: 'only-localhost' });
  repairs.push(() => server.stop());
  await server.waitForLine(/listening/);
  const { verdict, code, outcome, ...rest } = await report('shop/web', '--no-client');
  expect([code, outcome]).toEqual([3, 'failed']);
  expect(verdict).toMatch(/^No node reaches 4 endpoints, such as 10\.244\.3\.10:8080\/TCP on node3 \(refused\)/);
  const endpoints = failuresOf({ verdict, outcome, ...rest }).filter((line) => line.includes(':8080/'));
  expect(endpoints).toEqual(
    nodes.flatMap((node) =>
      ['10.244.3.10', '[fd00:244:3::10]'].flatMap((pod) => ['TCP', 'UDP'].map((protocol) => `${node} ${pod}:8080/${protocol} refused`)),
    ),
  );
});

test('a drop rule in the forward path of one node is found, with the last hop that answers', async () => {
  await drop('node3', 'forward', 'meta l4proto tcp');
  // A client that goes away in the middle leaves the agents running and free for the next one.
  const words = ['check', 'service', 'shop/web', '--source', herald.directory, '--socket', herald.socket('node1')];
  const first = lab.machine('client').spawn([program, ...words], { name: 'first-check' });
  await lab.until('node1 runs a check', async (note) => {
    const signal = new AbortController();
    const { status } = note(await requestLocal(herald.socket('node1'), `${debugPaths.check}?service=shop%2Fweb`, signal.signal));
    signal.abort();
    return status === 429;
  });
  first.kill('SIGKILL');
  const found = await report('shop/web', '--no-client');
  expect(found.code).toBe(3);
  expect(failuresOf(found).filter((line) => line.includes('10.244.3.10:8080'))).toEqual([
    'node1 10.244.3.10:8080/TCP silent',
    'node2 10.244.3.10:8080/TCP silent',
  ]);
  const probe = found.probes.find(({ from, to, protocol }) => from === 'node1' && to === '10.244.3.10:8080' && protocol === 'TCP');
  // The address of node3 on the link to a ToR, or its own.
  expect(probe?.hops?.at(-1)?.from).toMatch(/^10\.[012]\.0\.13$/);
  expect(found.verdict).toMatch(
    /^node1 and node2 do not reach 10\.244\.3\.10:8080\/TCP on node3 and \[fd00:244:3::10\]:8080\/TCP on node3 \(no answer within 3 s; packets get as far as node3, /,
  );
});

test('a drop rule on the way out of one node is found from that node only', async () => {
  await drop('node2', 'output', 'ip daddr 10.244.3.10 tcp dport 8080');
  const found = await report('shop/web', '--no-client', '--node', 'node2');
  expect(found.verdict).toMatch(
    /^node2 does not reach 10\.244\.3\.10:8080\/TCP on node3 \(no answer within 3 s; no router on the way answered\)/,
  );
  expect((await report('shop/web', '--no-client', '--node', 'node1')).verdict).toMatch(/^node1 reaches every endpoint/);
});

test.each([
  ['IPv4', '10.244.3.10'],
  ['IPv6', 'fd00:244:3::10'],
])('a narrow hop that says so is named, and one that does not is a failure: %s', async (_, pod) => {
  await lab.node('node3').ip('link set p-web-3 mtu 1400');
  repairs.push(() => lab.node('node3').ip('link set p-web-3 mtu 1500'));
  const told = await report('shop/web', '--no-client');
  expect([told.code, told.outcome]).toEqual([0, 'passed']);
  expect(told.probes).toContainEqual(expect.objectContaining({ from: 'node1', to: pod, what: 'size', result: 'tooBig', mtu: 1400 }));
  expect(told.verdict).toContain('passes at most 1400 octets, and says so');
  const silence =
    'table inet broken { chain c { type filter hook output priority 0; icmp type destination-unreachable drop; icmpv6 type packet-too-big drop; }; }';
  await lab.node('node3').exec(['nft', silence]);
  repairs.push(() => lab.node('node3').exec(['nft', 'delete table inet broken']));
  const lost = await report('shop/web', '--no-client');
  expect([lost.code, lost.outcome]).toEqual([3, 'failed']);
  expect(lost.verdict).toContain('are lost without an ICMP error; small packets are answered');
  expect(failuresOf(lost)).toContain(`node1 ${pod}/ICMP lost`);
});

test('a UDP Service that does not answer is neither reached nor failed, and a dead one is refused', async () => {
  await herald.write(
    '50-sink.yaml',
    `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: sink, labels: { reach: fabric } }
spec: { type: LoadBalancer, clusterIP: 10.96.0.77, ports: [{ protocol: UDP, port: 53, targetPort: ${sinkPort} }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: sink-v4, labels: { kubernetes.io/service-name: sink } }
addressType: IPv4
ports: [{ protocol: UDP, port: ${sinkPort} }]
endpoints: [{ addresses: [10.244.1.10], nodeName: node1, conditions: { ready: true } }]
`,
  );
  repairs.push(() => herald.remove('50-sink.yaml'));
  const [address = ''] = await herald.untilAssigned('shop/sink', 1);
  for (const tor of ['tor1', 'tor2']) await untilNextHops(lab, tor, address, viaNodes(tor, nodes, address));
  const dead = await report('shop/sink');
  expect([dead.code, dead.verdict]).toEqual([3, expect.stringMatching(/^No node reaches 10\.244\.1\.10:9090\/UDP on node1 \(refused\)/)]);
  const bind = `require('dgram').createSocket('udp4').bind(${sinkPort}, () => console.log('listening'))`;
  const sink = lab.pod('web-1').spawn([process.execPath, '-e', bind], { name: 'sink' });
  repairs.push(() => sink.stop());
  await sink.waitForLine(/listening/);
  const mute = await report('shop/sink');
  expect([mute.code, mute.outcome]).toEqual([0, 'passed']);
  expect(mute.verdict).toMatch(/refused nothing and answered nothing, which UDP need not do: not known\.$/);
  expect(mute.verdict).not.toMatch(/reach/);
});

describe('routers', () => {
  test('a router that filters the route has none', async () => {
    const config = (...lines: readonly string[]) =>
      lab.machine('tor1').exec(['vtysh', '-N', lab.machine('tor1').namespace, ...lines.flatMap((line) => ['-c', line])]);
    await config('conf t', 'ip prefix-list none seq 5 deny any', 'route-map none deny 1');
    const from = ['NODES', '10.8.1.1'];
    const family = ['conf t', 'router bgp', 'address-family ipv4 unicast'];
    await config(...family, ...from.map((peer) => `neighbor ${peer} prefix-list none in`));
    repairs.push(() => config(...family, ...from.map((peer) => `no neighbor ${peer} prefix-list none in`)));
    const found = await lab.until('tor1 has no route', async (note) => {
      const tried = note(await report('shop/web', '--no-client', '--node', 'node1', '--router', vtysh('tor1')));
      return tried.outcome === 'failed' ? tried : undefined;
    });
    expect(found.verdict).toMatch(/tor1 has no route to 198\.51\.100\.10\/32/);
    expect(found.code).toBe(3);
  });

  test('output that is not understood is shown, and a command that fails is no result', async () => {
    const { stdout, code } = await check(
      'shop/web',
      '--no-client',
      '--node',
      'node1',
      '--router',
      'x=echo some text {prefix}',
      '--router',
      'y=false {prefix}',
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/ {2}x: 198\.51\.100\.10\/32, shown and not judged:\n {4}some text 198\.51\.100\.10\/32\n/);
    expect(stdout).toMatch(/ {2}y: .*: not known\. the command ended with status 1/);
  });
});

test('a node that was not checked is named, and the check is incomplete', async () => {
  const { stdout, code } = await lab
    .machine('client')
    .exec([program, 'check', 'service', 'shop/web', '--source', herald.directory, '--socket', herald.socket('node1')], { check: false });
  expect(code).toBe(2);
  expect(stdout).toMatch(/^node1 reaches every endpoint and .*; the client here too; node2 and node3 were not checked\.\n/);
  expect(stdout).toMatch(/\n {2}node2, node3: no agent of it was found\n {4}fix: run herald check node there/);
});

test('check node is the part of one node, and --all has a line for each Service', async () => {
  const here = await lab.control.exec([program, 'check', 'node', '--service', 'shop/web', '--socket', herald.socket('node2')]);
  expect(here.stdout).toMatch(/^node2 reaches every endpoint/);
  const { stdout, code } = await lab
    .machine('client')
    .exec([
      program,
      'check',
      'service',
      '--all',
      '--source',
      herald.directory,
      ...nodes.flatMap((node) => ['--socket', herald.socket(node)]),
    ]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/\nshop\/web {2}passed +Every node reaches every endpoint/);
});
