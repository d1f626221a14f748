import { describe, expect, test } from 'vitest';
import { frontendOfRule, isOfIpvs, markBit } from '../../../../src/dataplane/kube-proxy/iptables-rules.ts';
import type { Family } from '../../../../src/net/address.ts';

const comment = '-m comment --comment "default/web:http loadbalancer IP"';

describe('rules of kube-proxy 1.36 in iptables mode', () => {
  test.each<[string, Family, string, string | undefined]>([
    [
      'a ClusterIP',
      4,
      `-A KUBE-SERVICES -d 172.30.0.1/32 -p tcp ${comment} -m tcp --dport 80 -j KUBE-SVC-CDGG`,
      'mapped 172.30.0.1 TCP 80',
    ],
    [
      'a load balancer address',
      4,
      `-A KUBE-SERVICES -d 192.0.2.1/32 -p udp ${comment} -m udp --dport 53 -j KUBE-EXT-CDGG`,
      'mapped 192.0.2.1 UDP 53',
    ],
    [
      'with source ranges',
      6,
      `-A KUBE-SERVICES -d fd09::1/128 -p tcp ${comment} -m tcp --dport 80 -j KUBE-FW-CDGG`,
      'mapped fd09::1 TCP 80',
    ],
    [
      'policy Local',
      4,
      `-A KUBE-SERVICES -d 172.30.0.1/32 -p sctp ${comment} -m sctp --dport 9 -j KUBE-SVL-CDGG`,
      'mapped 172.30.0.1 SCTP 9',
    ],
    ['a NodePort', 6, `-A KUBE-NODEPORTS -p tcp ${comment} -m tcp --dport 30080 -j KUBE-EXT-CDGG`, 'mapped NodePort IPv6 TCP 30080'],
    [
      'a NodePort of the loopback network',
      4,
      `-A KUBE-NODEPORTS -d 127.0.0.0/8 -p tcp ${comment} -m tcp --dport 30080 -m nfacct --nfacct-name x -j KUBE-EXT-CDGG`,
      undefined,
    ],
    [
      'no endpoint',
      4,
      `-A KUBE-EXTERNAL-SERVICES -d 192.0.2.1/32 -p tcp -m comment --comment "default/web:http has no endpoints" -m tcp --dport 80 -j REJECT --reject-with icmp-port-unreachable`,
      'without 192.0.2.1 TCP 80',
    ],
    [
      'no local endpoint',
      4,
      `-A KUBE-EXTERNAL-SERVICES -d 192.0.2.1/32 -p tcp -m comment --comment "has no local endpoints" -m tcp --dport 80 -j DROP`,
      'without 192.0.2.1 TCP 80',
    ],
    [
      'a NodePort without endpoint',
      4,
      `-A KUBE-EXTERNAL-SERVICES -p tcp -m comment --comment "has no endpoints" -m addrtype --dst-type LOCAL -m tcp --dport 30080 -j REJECT`,
      'without NodePort IPv4 TCP 30080',
    ],
    ['the jump to NodePorts', 4, '-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS', undefined],
    ['masquerade', 4, `-A KUBE-SERVICES ! -s 10.0.0.0/8 -d 172.30.0.1/32 -p tcp -m tcp --dport 80 -j KUBE-MARK-MASQ`, undefined],
  ])('the frontend of a rule: %s', (_, family, rule, expected) => {
    const found = frontendOfRule(family, rule);
    expect(found === undefined ? undefined : `${found.part} ${found.frontend}`).toBe(expected);
  });

  test("a match by kube-proxy's ipsets shows the ipvs mode", () => {
    expect(isOfIpvs('-A KUBE-SERVICES -m comment --comment "x" -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT')).toBe(true);
    expect(isOfIpvs('-A KUBE-SERVICES -m set --match-set mine dst -j RETURN')).toBe(false);
  });

  test.each([
    ['-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000', 14],
    ['-A KUBE-MARK-MASQ -j MARK --or-mark 0x20', 5],
    ['-A KUBE-MARK-MASQ -j MARK --set-xmark 0x80000000/0x80000000', 31],
    ['-A KUBE-MARK-MASQ -j MARK --set-xmark 0x3/0x3', undefined],
    ['-A KUBE-MARK-MASQ -j RETURN', undefined],
  ])('the rule %s sets bit %s', (rule, bit) => {
    expect(markBit(rule)).toBe(bit);
  });
});
