import { expect, test } from 'vitest';
import { judgePodPaths } from '../../../../src/decisions/host/pod-paths.ts';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import type { HostPath } from '../../../../src/net/host-path.ts';

const uplink: HostPath = { interface: 'eth0', mtu: 1500 };
const cable = (mtu: number, farMtu: number, name = 'veth1'): HostPath => ({ interface: name, mtu, farMtu });
const tunnel = (mtu: number): HostPath => ({ interface: 'vxlan', mtu });

test.each<[string, readonly HostPath[], readonly HostPath[], readonly HostPath[], boolean]>([
  ['one size everywhere', [cable(1500, 1500)], [], [uplink], false],
  ['an overlay whose pods have its MTU', [cable(1450, 1450)], [tunnel(1450)], [uplink], false],
  ['pods with large packets behind an uplink with small ones', [cable(9000, 9000)], [], [uplink], false],
  ['an uplink with large packets before pods with small ones', [cable(1500, 1500)], [], [{ ...uplink, mtu: 9000 }], false],
  ['a pod larger than its cable', [cable(1300, 1500)], [], [uplink], true],
  ['an overlay that is smaller than its pods', [cable(1500, 1500)], [tunnel(1450)], [uplink], true],
  ['an overlay that is smaller than a bridge whose far end is unknown', [{ interface: 'cni0', mtu: 1500 }], [tunnel(1450)], [uplink], true],
  ['no pod on this node, so that the size of pods is unknown', [], [tunnel(1450)], [uplink], false],
  ['no router, so that the size of packets is unknown', [cable(1300, 1500)], [], [], false],
])('%s: %j %j %j, reported is %s', (_, local, remote, uplinks, reported) => {
  expect(judgePodPaths({ local, remote, uplinks })).toHaveLength(reported ? 1 : 0);
});

test('alike interfaces are one reason, with the sizes, the interfaces and the fix', () => {
  const local = [cable(1300, 1500), cable(1300, 1500, 'veth2'), cable(1300, 1500, 'veth2')];
  const [because, ...others] = judgePodPaths({ local, remote: [], uplinks: [uplink] });
  expect(others).toEqual([]);
  expect(because?.code).toBe('PodPathNarrow');
  if (because === undefined) return;
  expect(reasonText(because)).toContain('packets of more than 1300 octets do not fit into veth1 and 1 other interface, the way to pods');
  expect(reasonText(because)).toContain('The MTU of eth0 is 1500, and that of pods is 1500');
  expect(remedyText(because)).toContain('ip link set dev veth1 mtu 1500');
});
