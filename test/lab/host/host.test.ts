import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listHostFilters } from '../../../src/dataplane/host/filter-commands.ts';
import { judgeFilters } from '../../../src/decisions/host/filters.ts';
import { inNamespace } from '../namespace.ts';
import { until } from '../until.ts';
import { clientBackend, labWithClientBackend, webUrls } from './client-backend.ts';
import { namespaceOf, type TwoNodes } from './two-nodes.ts';

/** The kernel settings with their wrong values at the start of each test, and the right values. */
const settings: readonly (readonly [name: string, wrong: string, right: string])[] = [
  ['net.ipv4.ip_forward', '0', '1'],
  ['net.ipv4.conf.uplink.rp_filter', '1', '2'],
  ['net.ipv6.conf.all.forwarding', '0', '1'],
  ['net.netfilter.nf_conntrack_tcp_be_liberal', '0', '1'],
  ['net.netfilter.nf_conntrack_tcp_loose', '0', '1'],
  ['net.netfilter.nf_conntrack_tcp_timeout_established', '432000', '86400'],
  ['net.netfilter.nf_conntrack_tcp_timeout_close_wait', '60', '3600'],
];

let lab: TwoNodes;

beforeEach(async () => {
  lab = await labWithClientBackend();
  await lab.exec('node1', ['sysctl', '-qw', ...settings.map(([name, wrong]) => `${name}=${wrong}`)]);
});

afterEach(async () => {
  await lab?.stop();
});

const valueOf = async (name: string): Promise<string> => (await lab.exec('node1', ['sysctl', '-n', name])).stdout.trim();
const answers = async (milliseconds?: number): Promise<(number | undefined)[]> =>
  Promise.all(webUrls.map(async (url) => (await lab.get(url, milliseconds))?.status));
/** Milliseconds to wait for an answer that should not come. */
const shortTimeout = 2_000;
const untilReported = (code: string, count: number): Promise<readonly unknown[]> =>
  until(`node1 reports ${count} of ${code}`, async (note) => {
    const found = note((await lab.report('node1')).host).filter((reason) => reason.code === code);
    return found.length === count ? found.map(({ details }) => details) : undefined;
  });

test('the agent corrects wrong kernel settings and forwards traffic of both families', async () => {
  await lab.startAgent('node1');
  for (const [name, , right] of settings) await until(`${name} is ${right}`, async (note) => note(await valueOf(name)) === right);
  expect(await answers()).toEqual([200, 200]);
  await until('the node reports no host problem', async (note) => note((await lab.report('node1')).host).length === 0);
});

test('--kernel-settings report changes nothing, and each problem names a command that fixes it', async () => {
  await lab.startAgent('node1', { options: ['--kernel-settings', 'report'] });
  await untilReported('KernelSettingWrong', settings.length);
  for (const [name, wrong] of settings) expect(`${name} ${await valueOf(name)}`).toBe(`${name} ${wrong}`);
  expect(await answers(shortTimeout)).toEqual([undefined, undefined]);
  const commands = [...(await lab.explain('shop/web')).matchAll(/fix: run on the node: (sysctl -w \S+)$/gm)].map(
    ([, command = '']) => command,
  );
  expect(commands.toSorted()).toEqual(settings.map(([name, , right]) => `sysctl -w ${name}=${right}`).toSorted());
  for (const command of commands) await lab.exec('node1', command.split(' '));
  expect(await answers()).toEqual([200, 200]);
});

test('wrong settings are reported by name if /proc/sys is read-only, as in an unprivileged pod', async () => {
  const readOnly = 'mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys && exec "$@"';
  await lab.startAgent('node1', { wrap: ['unshare', '-m', 'sh', '-c', readOnly, 'sh'] });
  const details = await untilReported('KernelSettingWrong', settings.length);
  expect(details).toEqual(
    settings.map(
      ([setting, value, wanted]) => expect.objectContaining({ setting, value, wanted, error: '/proc/sys is mounted read-only' }) as unknown,
    ),
  );
  expect(await lab.explain('shop/web')).toMatch(
    /host: net\.ipv4\.ip_forward is 0 and should be 1: .*read-only\)\n +fix: run on the node: sysctl -w net\.ipv4\.ip_forward=1/,
  );
});

describe('a chain of another program on the forward hook', () => {
  test.each([
    ['policy drop', 'type filter hook forward priority 0; policy drop; ct state established,related accept;', 'its policy is drop'],
    [
      'a last rule that rejects',
      'type filter hook forward priority 0; policy accept; iifname "docker0" accept; counter reject;',
      'a rule for all packets rejects them',
    ],
  ])('%s: the problem is reported, and the command in its fix lets the traffic through', async (_, chain, how) => {
    await lab.exec('node1', ['nft', '-f', '-'], { input: `table inet filter {\n chain forward { ${chain}\n }\n}\n` });
    await lab.startAgent('node1');
    await untilReported('ForwardFilterDrops', 1);
    expect(await answers(shortTimeout)).toEqual([undefined, undefined]);
    const explained = await lab.explain('shop/web');
    expect(explained).toContain(
      `host: chain forward of table inet filter drops the packets of Services that none of its other rules accepts: ${how}`,
    );
    const command = /fix: run: (nft insert rule .*)$/m.exec(explained)?.[1] ?? '';
    await lab.exec('node1', command.split(' '));
    expect(await answers()).toEqual([200, 200]);
    const filters = await listHostFilters(async () => [], inNamespace(namespaceOf('node1'), []));
    expect(filters).toHaveLength(1);
    expect(judgeFilters(filters, new Map())).toEqual([]);
  });

  test('a chain that accepts Services through a chain of its own is no problem', async () => {
    await lab.exec('node1', ['nft', '-f', '-'], {
      input:
        'table inet filter {\n chain user { ct status dnat accept\n }\n chain forward { type filter hook forward priority 0; policy drop; jump user\n }\n}\n',
    });
    await lab.startAgent('node1');
    expect(await answers()).toEqual([200, 200]);
    const filters = await listHostFilters(async () => [], inNamespace(namespaceOf('node1'), []));
    expect(filters.map(({ chain, chains }) => [chain, [...chains.keys()]])).toEqual([['forward', ['forward', 'user']]]);
    expect(judgeFilters(filters, new Map())).toEqual([]);
  });
});

describe('a chain of another program on the input hook', () => {
  const checked = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 32_100 };
  const health = async (milliseconds?: number): Promise<(number | undefined)[]> =>
    Promise.all(['10.71.1.1', '[fd71:1::1]'].map(async (address) => (await lab.get(`http://${address}:32100/`, milliseconds))?.status));

  test.each([
    [
      'policy drop',
      'type filter hook input priority 0; policy drop; ct state established,related accept; meta l4proto { icmp, ipv6-icmp } accept; tcp dport { 22, 80 } accept',
      'its policy is drop',
    ],
    [
      'a last rule that rejects',
      'type filter hook input priority 0; policy accept; ct state established accept; meta l4proto { icmp, ipv6-icmp } accept; counter reject',
      'a rule for all packets rejects them',
    ],
  ])('%s: the problem names the ports, and the command in its fix lets health checks through', async (_, chain, how) => {
    await lab.write('10-web.yaml', clientBackend(checked));
    await lab.exec('node1', ['nft', '-f', '-'], { input: `table inet filter {\n chain input { ${chain}\n }\n}\n` });
    await lab.startAgent('node1');
    await untilReported('InputFilterDrops', 1);
    expect(await health(shortTimeout)).toEqual([undefined, undefined]);
    const explained = await lab.explain('shop/web');
    expect(explained).toContain(
      `host: chain input of table inet filter drops connections to TCP port 32100 (health check of shop/web) that none of its other rules accepts: ${how}`,
    );
    const command = /fix: run: (nft insert rule .*)$/m.exec(explained)?.[1] ?? '';
    await lab.exec('node1', command.split(' '));
    expect(await health()).toEqual([503, 503]);
    const filters = await listHostFilters(async () => [], inNamespace(namespaceOf('node1'), []));
    expect(filters.map(({ hook, chain: name }) => `${hook} ${name}`)).toEqual(['input input']);
    expect(judgeFilters(filters, new Map([[32_100, 'health']]))).toEqual([]);
    expect(judgeFilters(filters, new Map([[179, 'BGP']]))).toHaveLength(1);
  });
});
