import { cp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from './command.ts';
import { examples, HeraldInLab } from './herald.ts';
import { Lab, type LabProcess } from './lab.ts';
import { untilNextHops, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

/**
 * Material for a bug report: BGP messages between an agent and FRR, as `herald bgp trace` prints them and as tshark reads its file, and a
 * bundle.
 */
const families = { 4: { peer: 'tor1-v4', router: '10.1.0.1' }, 6: { peer: 'tor1-v6', router: 'fd00:1::1' } } as const;
type Family = keyof typeof families;

let lab: Lab;
let herald: HeraldInLab;
let agent: LabProcess;
let socket: string;
let addresses: readonly string[];

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ nodes: 1, pods: [{ name: 'web-1', node: 'node1' }] }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/.*nodeName: node[23].*\n/g, ''));
  socket = join(await lab.scratch('socket'), 'agent.sock');
  agent = herald.startRun('node1', '--socket', socket);
  await agent.waitForLine(/agent started/);
  addresses = await herald.untilAssigned('shop/web', 2);
  await untilAnnounced();
});

afterAll(async () => {
  await lab?.stop();
});

async function untilAnnounced(): Promise<void> {
  for (const address of addresses) await untilNextHops(lab, 'tor1', address, viaNodes('tor1', ['node1'], address));
}

async function untilWithdrawn(): Promise<void> {
  for (const address of addresses) await untilNextHops(lab, 'tor1', address, []);
}

/** Returns these fields of the packets that match the filter. */
async function tshark(file: string, filter: string, ...fields: readonly string[]): Promise<string[][]> {
  const columns = fields.flatMap((field) => ['-e', field]);
  const checks = ['-o', 'tcp.check_checksum:TRUE', '-o', 'ip.check_checksum:TRUE'];
  const { stdout } = await run(['tshark', '-r', file, ...checks, '-Y', filter, '-T', 'fields', '-E', 'separator=|', ...columns]);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('|'));
}

/** Returns "announce 192.0.2.10" and the like, in order, for all UPDATEs in a file, in whatever attribute the prefix is. */
async function routesIn(file: string, family: Family): Promise<string[]> {
  const [announced, withdrawn] =
    family === 4 ? ['bgp.nlri_prefix', 'bgp.withdrawn_prefix'] : ['bgp.mp_reach_nlri_ipv6_prefix', 'bgp.mp_unreach_nlri_ipv6_prefix'];
  const rows = await tshark(file, 'bgp.type == 2', announced, withdrawn);
  const each = (what: string, cell = ''): string[] => (cell === '' ? [] : cell.split(',').map((prefix) => `${what} ${prefix}`));
  return rows.flatMap(([announced, withdrawn]) => [...each('withdraw', withdrawn), ...each('announce', announced)]);
}

const types: Readonly<Record<string, string>> = { 1: 'OPEN', 2: 'UPDATE', 3: 'NOTIFICATION', 4: 'KEEPALIVE', 5: 'ROUTE-REFRESH' };

/** Returns the direction and type of each message that a trace printed. */
function printed(lines: readonly string[]): string[] {
  return lines.flatMap((line) => /\[\d+\] (->|<-) ([A-Z-]+)/.exec(line)?.slice(1, 3).join(' ') ?? []);
}

/** Returns the direction and type of each message in a file. */
async function captured(file: string, router: string): Promise<string[]> {
  const rows = await tshark(file, 'bgp', 'ip.src', 'ipv6.src', 'bgp.type');
  return rows.flatMap(([source4 = '', source6 = '', all = '']) => {
    const direction = [source4, source6].includes(router) ? '<-' : '->';
    return all.split(',').map((type) => `${direction} ${types[type]}`);
  });
}

describe.each([4, 6] as const)('a session over IPv%i', (family) => {
  const { peer, router } = families[family];

  test('a trace that starts late has the same messages in its output and in its file for tshark', async () => {
    const file = join(await lab.scratch(`trace-${family}`), 'trace.pcapng');
    const trace = herald.startCommand('node1', `trace-${peer}`, 'bgp', 'trace', '--peer', peer, '--socket', socket, '--pcap', file);
    await trace.waitForLine(/connection is there already/);
    const [web] = [await herald.read('30-web.yaml')];
    await herald.remove('30-web.yaml');
    await untilWithdrawn();
    await herald.write('30-web.yaml', web);
    await untilAnnounced();
    const tor = lab.router('tor1');
    await tor.exec(['vtysh', '-N', tor.namespace, '-c', 'clear bgp *']);
    await trace.waitForLine(/<- NOTIFICATION Cease: Administrative Reset/);
    await trace.waitForLine(/<- OPEN version 4, AS 65101/);
    // Both families are announced again. The second session's End-of-RIB comes after its routes.
    await trace.waitForLine(/-> UPDATE End-of-RIB/);
    await untilAnnounced();
    trace.kill('SIGINT');
    const { code } = await trace.exited;
    expect(code).toBe(0);

    const own = addresses.find((address) => address.includes(':') === (family === 6)) ?? '';
    const ofOwn = (await routesIn(file, family)).filter((route) => route.endsWith(` ${own}`));
    expect(new Set(ofOwn)).toEqual(new Set([`withdraw ${own}`, `announce ${own}`]));
    // The route is announced when the Service returns, and again in the session after the reset.
    expect(ofOwn.slice(-2)).toEqual([`announce ${own}`, `announce ${own}`]);
    const text = trace.lines();
    const told = (what: string): number => text.filter((line) => new RegExp(` ${what} [^;,]*\\b${own}/`).test(line)).length;
    const inFile = (what: string): number => ofOwn.filter((route) => route.startsWith(what)).length;
    expect([told('withdraws'), told('announces')]).toEqual([inFile('withdraw'), inFile('announce')]);
    expect(await captured(file, router)).toEqual(printed(text));
    expect(await tshark(file, '_ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0', 'frame.number')).toEqual([]);
    // No segment is out of place in the stream.
    const oddities =
      'tcp.analysis.retransmission || tcp.analysis.out_of_order || tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment';
    expect(await tshark(file, oddities, 'frame.number')).toEqual([]);
  });
});

test('herald bgp trace prints messages as JSON and stops after --count', async () => {
  const { stdout, code } = await lab
    .node('node1')
    .exec([
      join(import.meta.dirname, '../../bin/herald'),
      'bgp',
      'trace',
      '--peer',
      'tor1-v4',
      '--socket',
      socket,
      '-o',
      'json',
      '--count',
      '2',
    ]);
  expect(code).toBe(0);
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; message?: { kind: string } });
  expect(events[0]).toMatchObject({ type: 'present', connection: { remote: '10.1.0.1:179' } });
  expect(events.filter(({ type }) => type === 'message')).toHaveLength(2);
});

test('a bundle of a node has its sessions, its metrics and the tables of its kernel', async () => {
  const directory = await lab.scratch('bundle');
  const archive = join(directory, 'bundle.tar.gz');
  const program = join(import.meta.dirname, '../../bin/herald');
  const words = ['bundle', '--source', herald.directory, '--socket', socket, '-o', archive];
  const { code, stderr } = await lab.node('node1').exec([program, ...words], { check: false, timeoutMs: 120_000 });
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(`herald: ${archive}, `) });
  await run(['tar', '-xzf', archive, '-C', directory, '--strip-components', '1']);
  const file = (name: string): Promise<string> => readFile(join(directory, name), 'utf8');
  const sessions = JSON.parse(await file('live/the-agent-of-node1/sessions.json')) as { items: { peer: string }[] };
  expect(sessions.items.map(({ peer }) => peer).toSorted()).toEqual(['tor1-v4', 'tor1-v6', 'tor2-v4', 'tor2-v6']);
  expect(await file('host/metrics.txt')).toContain('herald_build_info{');
  const tables = (await readdir(join(directory, 'host'))).filter((name) => /^nft-\w+-herald/.test(name));
  const rules = await Promise.all(tables.map((name) => file(`host/${name}`)));
  for (const address of addresses) expect(rules.join('\n')).toContain(address);
  expect(await file('host/processes.txt')).toContain(`run ${herald.directory} --node node1`);
  expect(await file('host/settings.txt')).toContain('net.ipv4.ip_forward = 1');
  expect(await file('records/nodes/node1.yaml')).toContain('tor1-v4');
});

test('a bundle contains no TCP MD5 key of the kernel, even one that its source does not have', async () => {
  const key = 'Xq7-only-the-kernel-knows';
  await herald.edit('20-herald.yaml', (text) => text.replace('peerAddress: 10.2.0.1,', `peerAddress: 10.2.0.1, password: ${key},`));
  // The ToR has no password, so the kernel sends its SYN again and again.
  const node = lab.node('node1');
  await lab.until('a socket has the key', async () => (await node.exec(['ss', '-tni', 'dport = :179'])).stdout.includes(key));
  const [directory, stranger] = [await lab.scratch('bundle-of-a-stranger'), await lab.scratch('stranger')];
  await cp(join(herald.directory, '10-cluster.yaml'), join(stranger, '10-cluster.yaml'));
  const archive = join(directory, 'bundle.tar.gz');
  const words = ['bundle', '--source', stranger, '--host', 'always', '--socket', 'none', '-o', archive];
  // Between two attempts there is no socket.
  await lab.until('a bundle has the socket', async (note) => {
    await rm(archive, { force: true });
    await node.exec([join(import.meta.dirname, '../../bin/herald'), ...words], { check: false, timeoutMs: 120_000 });
    await run(['tar', '-xzf', archive, '-C', directory, '--strip-components', '1']);
    return note(await readFile(join(directory, 'host/tcp-179.txt'), 'utf8')).includes('10.2.0.1:179');
  });
  const { stdout: found } = await run(['grep', '-rl', '--exclude=*.tar.gz', key, directory], { check: false });
  expect(found).toBe('');
});
