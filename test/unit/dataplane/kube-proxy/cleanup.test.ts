import { describe, expect, test } from 'vitest';
import { cleanupKubeProxy, forwardsClusterIPs } from '../../../../src/dataplane/kube-proxy/cleanup.ts';
import type { RunCommand } from '../../../../src/dataplane/kube-proxy/leftover.ts';

/**
 * A machine whose commands answer from a table, looked up by the whole command or by its beginning. A command that is not in the table is
 * not installed.
 */
function machine(answers: Record<string, string | ((input: string) => string)>) {
  const ran: string[] = [];
  const run: RunCommand = async (command, input = '') => {
    const text = command.join(' ');
    ran.push(text);
    const answer = answers[text];
    if (answer === undefined)
      return Object.keys(answers).some((key) => key.split(' ')[0] === command[0]) ? { status: 1, stdout: '', stderr: 'no' } : undefined;
    return { status: 0, stdout: typeof answer === 'string' ? answer : answer(input), stderr: '' };
  };
  return { ran, run, answers };
}

const legacyTables = async (): Promise<string[]> => [];

test("the cleanup deletes kube-proxy's nftables tables and nothing else", async () => {
  let tables = 'table ip herald\ntable ip kube-proxy\ntable ip6 kube-proxy\ntable inet kube-proxy\n';
  const gone = (family: string) => (): string => {
    tables = tables.replace(`table ${family} kube-proxy\n`, '');
    return '';
  };
  const { run, answers } = machine({ 'nft delete table ip kube-proxy': gone('ip'), 'nft delete table ip6 kube-proxy': gone('ip6') });
  answers['nft list tables'] = () => tables;
  expect(await cleanupKubeProxy({ run, legacyTables })).toEqual({
    removed: ['table ip kube-proxy', 'table ip6 kube-proxy'],
    kept: [],
    left: [],
  });
  expect(tables).toBe('table ip herald\ntable inet kube-proxy\n');
});

test('the cleanup reports objects that it could not remove or inspect', async () => {
  const { run } = machine({ 'nft list tables': 'table ip kube-proxy\n', 'nft list chain ip nat KUBE-MARK-MASQ': 'chain' });
  const { removed, left } = await cleanupKubeProxy({ run, legacyTables: async (family) => (family === 'ip6' ? ['nat'] : []) });
  expect(removed).toEqual([]);
  expect(left).toEqual([
    'table ip kube-proxy: no',
    'chains of iptables-nft: iptables-nft-save is not installed',
    'chains of ip6tables-legacy: ip6tables-legacy-save is not installed',
  ]);
});

test("the cleanup removes ipvs mode: ipsets, kube-proxy's virtual servers, then the link", async () => {
  let there = true;
  const { run, ran } = machine({
    'nft list tables': '',
    'ipset list -n': 'KUBE-CLUSTER-IP\nKUBE-6-LOOP-BACK\nmine\n',
    'ipset destroy KUBE-CLUSTER-IP': '',
    'ipset destroy KUBE-6-LOOP-BACK': '',
    'ip -o address show dev kube-ipvs0': '7: kube-ipvs0 inet 10.96.0.1/32 scope global\n7: kube-ipvs0 inet6 fd96::1/128 scope global\n',
    'ip link delete kube-ipvs0': () => {
      there = false;
      return '';
    },
    'ipvsadm --save -n':
      '-A -t 10.96.0.1:443 -s rr\n-a -t 10.96.0.1:443 -r 10.1.0.1:6443 -m -w 1\n-A -u [fd96::1]:53 -s rr\n-A -t 10.0.0.1:30080 -s rr\n',
    'ipvsadm -D -t 10.96.0.1:443': '',
    'ipvsadm -D -u [fd96::1]:53': '',
  });
  const { removed, kept } = await cleanupKubeProxy({ run, legacyTables });
  expect(there).toBe(false);
  expect(removed).toEqual([
    'ipset KUBE-CLUSTER-IP',
    'ipset KUBE-6-LOOP-BACK',
    'virtual server 10.96.0.1:443',
    'virtual server [fd96::1]:53',
    'link kube-ipvs0',
  ]);
  expect(kept).toEqual([expect.stringContaining('virtual server 10.0.0.1:30080: Herald forwards no such address')]);
  expect(ran.indexOf('ip link delete kube-ipvs0')).toBeGreaterThan(ran.indexOf('ipvsadm -D -u [fd96::1]:53'));
});

describe('the virtual servers of the ipvs mode', () => {
  const saved = [
    '-A -t 10.96.0.1:443 -s rr',
    '-A -t 10.0.0.1:30080 -s rr',
    '-A -u [fd00::1]:30053 -s rr',
    '-A --sctp-service 10.0.0.1:30081 -s rr',
    '-A -t 10.0.0.1:30099 -s rr',
    '-A -t 203.0.113.9:30080 -s wlc',
    '-a -t 203.0.113.9:30080 -r 10.1.0.1:80 -m -w 1',
  ];
  const herald = {
    'nft list tables': '',
    'ip -o address show': '2: eth0 inet 10.0.0.1/24 scope global\n2: eth0 inet6 fd00::1/64 scope global\n',
    'nft list map ip herald frontends': 'elements = { 10.96.0.1 . tcp . 443 : 1:1,\n\t203.0.113.9 . tcp . 80 : 1:1 }',
    'nft list map ip herald nodeports': 'elements = { tcp . 30080 : 1:1,\n\tudp . 53 : 1:3 }',
    'nft list map ip herald nodeports_without_backends': 'elements = { sctp . 30081 : 0:1 }',
    'nft list map ip6 herald nodeport_turns': 'elements = { udp . 30053 : goto turns_1 }',
  };
  const deletions = ['-t 10.96.0.1:443', '-t 10.0.0.1:30080', '-u [fd00::1]:30053', '--sctp-service 10.0.0.1:30081'];

  test('are removed where Herald forwards the same, also when kube-ipvs0 is gone, and others stay in one line', async () => {
    let rest = [...saved];
    const { run, answers } = machine(herald);
    answers['ipvsadm --save -n'] = () => rest.join('\n');
    for (const one of deletions)
      answers[`ipvsadm -D ${one}`] = () => {
        rest = rest.filter((line) => !line.startsWith(`-A ${one} `));
        return '';
      };
    expect(await cleanupKubeProxy({ run, legacyTables })).toEqual({
      removed: ['10.96.0.1:443', '10.0.0.1:30080', '[fd00::1]:30053', '10.0.0.1:30081'].map((place) => `virtual server ${place}`),
      kept: [
        '2 virtual servers 10.0.0.1:30099, 203.0.113.9:30080: Herald forwards no such address, so another program may use them; if none does, run: ipvsadm --clear',
      ],
      left: [],
    });
    expect(rest).toEqual(saved.slice(4));
  });

  test('that another program has are named, at most ten', async () => {
    const many = Array.from({ length: 12 }, (_, index) => `-A -t 203.0.113.9:${1000 + index} -s rr`).join('\n');
    const { kept } = await cleanupKubeProxy({ run: machine({ ...herald, 'ipvsadm --save -n': many }).run, legacyTables });
    expect(kept).toEqual([expect.stringMatching(/^12 virtual servers 203\.0\.113\.9:1000, .*:1009 and 2 more: /)]);
  });

  const link = { 'ip -o address show dev kube-ipvs0': '7: kube-ipvs0 inet 10.96.0.1/32 scope global\n' };
  const removable = { ...link, 'ip link delete kube-ipvs0': '' };
  const servers = { 'grep -qE ^(TCP|UDP|SCTP)  /proc/net/ip_vs': '' };
  test.each<[string, Record<string, string>, readonly string[], readonly string[]]>([
    ['keep the link', { ...herald, ...removable, ...servers }, [], ['virtual servers of IPVS, and kube-ipvs0: ipvsadm is not installed']],
    ['are reported without the link', { ...herald, ...servers }, [], ['virtual servers of IPVS: ipvsadm is not installed']],
    ['are none in a kernel without them', { ...herald, grep: '' }, [], []],
    ['may be there without grep', { ...herald, ...removable }, [], ['virtual servers of IPVS, and kube-ipvs0: ipvsadm is not installed']],
  ])('%s when ipvsadm is missing', async (_, answers, removed, left) => {
    const report = await cleanupKubeProxy({ run: machine(answers).run, legacyTables });
    expect([report.removed, report.left]).toEqual([removed, left]);
  });
});

describe('whether Herald forwards ClusterIPs', () => {
  test.each<[string, Record<string, string>, boolean]>([
    [
      'yes, when one of its tables has some',
      { 'nft list set ip6 herald cluster_ips': 'table ip6 herald {\n set cluster_ips {\n elements = { fd96::1 }\n}\n}' },
      true,
    ],
    [
      'no, when its tables have none, as in scope external',
      { 'nft list set ip herald cluster_ips': 'table ip herald {\n set cluster_ips {\n type ipv4_addr\n}\n}' },
      false,
    ],
    ['no, without its tables', { 'nft list tables': '' }, false],
    ['no, without nft', {}, false],
  ])('%s', async (_, answers, expected) => {
    expect(await forwardsClusterIPs(machine(answers).run)).toBe(expected);
  });
});
