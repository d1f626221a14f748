import { expect, test } from 'vitest';
import { blockedBySettings, forwardingPaths } from '../../../../src/decisions/host/blocked-by-settings.ts';
import { reason, type Reason } from '../../../../src/model/reasons.ts';

const because = (setting: string): Reason => reason('KernelSettingWrong', { setting, value: '0', wanted: '1', why: '', error: '' });
const all4 = 'net/ipv4/ip_forward';
const all6 = 'net/ipv6/conf/all/forwarding';
const on = (name: string): string => `net/ipv4/conf/${name}/forwarding`;

/** Returns the blocked families when these settings are 0 and all others are 1. */
function blocked(off: readonly string[], uplinks: readonly string[] = ['eth0', 'eth1']): [number, string][] {
  const wrong = new Map(off.map((path) => [path, because(path)]));
  const found = blockedBySettings((path) => (off.includes(path) ? '0' : '1'), uplinks, wrong);
  return found.map(({ family, reason: { details } }) => [family, (details as { setting: string }).setting]);
}

test('forwarding that is off for a family blocks that family', () => {
  expect(blocked([])).toEqual([]);
  expect(blocked([all4, on('eth0'), on('eth1')])).toEqual([[4, all4]]);
  expect(blocked([all6])).toEqual([[6, all6]]);
  expect(blocked([all4, on('eth0'), on('eth1'), all6])).toEqual([
    [4, all4],
    [6, all6],
  ]);
  expect(blocked([all4], [])).toEqual([[4, all4]]);
});

test('IPv4 is blocked only when no uplink forwards', () => {
  expect(blocked([on('eth0')])).toEqual([]);
  expect(blocked([on('eth0'), on('eth1')])).toEqual([[4, on('eth0')]]);
  // The kernel checks the interface's own value.
  expect(blocked([all4, on('eth0')])).toEqual([]);
});

test('settings of anything else block nothing', () => {
  expect(blocked(['net/ipv4/conf/eth0/rp_filter', 'net/netfilter/nf_conntrack_tcp_loose'])).toEqual([]);
  expect(forwardingPaths(['eth0'])).toEqual([all4, on('eth0'), all6]);
});
