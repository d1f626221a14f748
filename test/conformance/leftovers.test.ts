import { execFileSync } from 'node:child_process';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cleanupKubeProxy, commandRunner, type CleanupReport } from '../../src/dataplane/kube-proxy/cleanup.ts';
import { KubeProxyForwarding } from '../../src/dataplane/kube-proxy/kube-proxy.ts';
import { systemClock } from '../../src/system/clock.ts';
import { iptablesModeRules } from './beside/legacy-rules.ts';

/** Reads and removes the rules that kube-proxy leaves in each variant of iptables and in ipsets, in a namespace of its own. */
const namespace = `hl-sc-${process.pid}`;
const prefix = ['ip', 'netns', 'exec', namespace] as const;
const inside = (command: string, input = ''): string =>
  execFileSync('ip', [...prefix.slice(1), ...command.split(' ')], { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] });
const legacyTables = async (family: 'ip' | 'ip6'): Promise<string[]> =>
  inside(`cat /proc/net/${family}_tables_names`)
    .split('\n')
    .filter((name) => name !== '');
const cleanup = (): Promise<CleanupReport> => cleanupKubeProxy({ run: commandRunner(prefix), legacyTables });

beforeEach(() => {
  execFileSync('ip', ['netns', 'add', namespace]);
});

afterEach(() => {
  execFileSync('ip', ['netns', 'del', namespace]);
});

describe.each(['nft', 'legacy'] as const)('iptables-%s', (variant) => {
  beforeEach(() => {
    inside(`iptables-${variant}-restore`, iptablesModeRules({ clusterIP: '172.30.0.1', balancer: '192.0.2.1', length: 32 }));
    inside(`ip6tables-${variant}-restore`, iptablesModeRules({ clusterIP: 'fd02::1', balancer: 'fd09::1', length: 128 }));
  });

  test('frontends of both families are read', async () => {
    const seen = new KubeProxyForwarding(systemClock, { networkNamespace: `/run/netns/${namespace}`, commandPrefix: prefix, legacyTables });
    await seen.start();
    expect(seen.view).toEqual({ seen: true, program: 'kube-proxy (iptables)', masqueradeBits: [14] });
    const there = [
      '172.30.0.1 TCP 80',
      '192.0.2.1 TCP 80',
      'fd02::1 TCP 80',
      'fd09::1 TCP 80',
      'NodePort IPv4 TCP 30080',
      'NodePort IPv6 TCP 30080',
    ];
    expect(there.filter((frontend) => !seen.has(frontend))).toEqual([]);
    expect(seen.has('192.0.2.1 UDP 80')).toBe(false);
    await seen.stop();
  });

  test('the cleanup removes all of kube-proxy and nothing else', async () => {
    const { removed, kept, left } = await cleanup();
    expect({ kept, left }).toEqual({ kept: [], left: [] });
    expect(removed.toSorted()).toEqual([
      `2 chains, and 1 rule leading to them, in table filter of ip6tables-${variant}`,
      `2 chains, and 1 rule leading to them, in table filter of iptables-${variant}`,
      `6 chains, and 3 rules leading to them, in table nat of ip6tables-${variant}`,
      `6 chains, and 3 rules leading to them, in table nat of iptables-${variant}`,
    ]);
    for (const tool of ['iptables', 'ip6tables']) {
      const saved = inside(`${tool}-${variant}-save`);
      expect(saved.match(/KUBE-[A-Z]+/g)).toEqual(['KUBE-FIREWALL', 'KUBE-FIREWALL']);
      expect(saved).toContain('-A PREROUTING -j DOCKER');
    }
    expect(await cleanup()).toEqual({ removed: [], kept: [], left: [] });
  });
});

test('the cleanup removes rules of the ipvs mode, then its ipsets and its interface', async () => {
  inside('ipset create KUBE-CLUSTER-IP hash:ip,port');
  inside('ipset create KUBE-6-CLUSTER-IP hash:ip,port family inet6');
  inside('ipset create mine hash:ip');
  // The type of the interface does not matter; not every kernel has dummy interfaces.
  inside('ip link add kube-ipvs0 type bridge');
  inside(
    'iptables-nft-restore',
    '*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n-A PREROUTING -j KUBE-SERVICES\n-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000\n-A KUBE-SERVICES -m set --match-set KUBE-CLUSTER-IP dst,dst -j KUBE-MARK-MASQ\nCOMMIT\n',
  );
  const seen = new KubeProxyForwarding(systemClock, { networkNamespace: `/run/netns/${namespace}`, commandPrefix: prefix, legacyTables });
  await seen.start();
  expect(seen.view).toEqual({ seen: false, unavailableBecause: expect.stringContaining('ipvs') });
  await seen.stop();
  const { removed, left } = await cleanup();
  expect(removed).toEqual([
    '2 chains, and 1 rule leading to them, in table nat of iptables-nft',
    'ipset KUBE-CLUSTER-IP',
    'ipset KUBE-6-CLUSTER-IP',
    'link kube-ipvs0',
  ]);
  // ipvsadm is installed: without it the cleanup would report virtual servers that it cannot list.
  expect(left).toEqual([]);
  expect(inside('ipset list -n')).toBe('mine\n');
  expect(inside('ip -o link')).not.toContain('kube-ipvs0');
});
