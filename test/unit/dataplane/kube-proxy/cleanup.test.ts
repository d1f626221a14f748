import { describe, expect, test } from 'vitest';
import { cleanupKubeProxy, forwardsClusterIPs, type RunCommand } from '../../../../src/dataplane/kube-proxy/cleanup.ts';

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
  expect(kept).toEqual([expect.stringContaining('virtual server 10.0.0.1:30080')]);
  expect(ran.indexOf('ip link delete kube-ipvs0')).toBeGreaterThan(ran.indexOf('ipvsadm -D -u [fd96::1]:53'));
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
