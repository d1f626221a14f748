import { describe, expect, test } from 'vitest';
import { directReturnPreflight, type DirectReturnFacts } from '../../../../src/decisions/direct-return/preflight.ts';
import type { DirectReturnMode } from '../../../../src/model/kinds/types.ts';
import { remedyText, reasonText } from '../../../../src/model/reasons.ts';
import { address } from '../../../../src/net/address.ts';
import type { HostFilter } from '../../../../src/net/host-filter.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';

const eth0 = { name: 'eth0', linkAddress: '02:00:00:00:00:01' };

/** A node on a link of both families without any problem. */
const good: DirectReturnFacts = {
  addresses: [address('10.0.0.1'), address('fd00::1')],
  interfaces: [
    { ...eth0, address: '10.0.0.1', length: 24 },
    { ...eth0, address: 'fd00::1', length: 64 },
    { name: 'cni0', address: '10.244.1.1', length: 24, linkAddress: '02:00:00:00:00:02' },
  ],
  strict: new Set(),
  mtu: new Map([['eth0', 1500]]),
  filters: [],
  lacks: {},
};

const router: DirectReturnFacts = {
  ...good,
  interfaces: [
    { ...eth0, address: '172.16.0.1', length: 31 },
    { name: 'lan', address: '10.0.0.1', length: 32 },
  ],
};

const filter: HostFilter = {
  hook: 'forward',
  priority: 0,
  backend: 'nft',
  family: 'ip',
  table: 'filter',
  chain: 'FORWARD',
  policy: 'drop',
  chains: new Map(),
};

function outcome(mode: DirectReturnMode, facts: Partial<DirectReturnFacts>, of = good): string {
  const { report, reasons } = directReturnPreflight(mode, { ...of, ...facts });
  return `${report.receives.join()} / ${report.passes.join()} / ${reasons.map(({ code }) => code.replace('DirectReturn', '')).join()}`;
}

describe('the direct server return report of a node: receives / passes / reasons', () => {
  test.each<[string, DirectReturnMode, Partial<DirectReturnFacts>, DirectReturnFacts, string]>([
    ['on a link', 'auto', {}, good, 'link,vxlan / l2,route,vxlan / '],
    ['mode l2, with fragments by route', 'l2', {}, good, 'link / l2,route / '],
    ['mode route', 'route', {}, good, 'link / route / '],
    ['mode vxlan', 'vxlan', {}, good, 'vxlan / vxlan / '],
    ['behind its own router', 'auto', {}, router, 'vxlan / vxlan / '],
    ['behind its own router, mode l2', 'l2', {}, router, ' /  / NotOnLink'],
    ['behind its own router, mode route', 'route', {}, router, ' /  / NotOnLink'],
    ['a strict reverse-path filter', 'auto', { strict: new Set(['eth0']) }, good, 'vxlan / l2,route,vxlan / StrictSource'],
    ['a strict filter that does not matter in mode vxlan', 'vxlan', { strict: new Set(['eth0']) }, good, 'vxlan / vxlan / '],
    ['a strict filter of the tunnel', 'auto', { strict: new Set(['herald-vx4']) }, good, 'link / l2,route,vxlan / StrictSource'],
    ['a strict filter of pod interfaces', 'auto', { strict: new Set(['cni0']) }, good, 'link,vxlan / l2,route,vxlan / '],
    ['a filter that drops', 'auto', { filters: [filter] }, good, 'link,vxlan / l2 / Filtered'],
    ['a filter that drops behind a router', 'auto', { filters: [filter] }, router, 'vxlan /  / Filtered'],
    ['no netdev tables', 'auto', { lacks: { l2: 'no such thing' } }, good, 'link,vxlan / route,vxlan / Unsupported'],
    ['no command ip', 'auto', { lacks: { route: 'cannot run ip', vxlan: 'cannot run ip' } }, good, 'link / l2 / Unsupported,Unsupported'],
    ['no VXLAN', 'auto', { lacks: { vxlan: 'no such thing' } }, good, 'link / l2,route / Unsupported'],
    ['no VXLAN, mode vxlan', 'vxlan', { lacks: { vxlan: 'no such thing' } }, good, ' /  / Unsupported'],
    ['no VXLAN in a mode that does not need it', 'l2', { lacks: { vxlan: 'no such thing' } }, good, 'link / l2,route / '],
    ['an MTU too small for the tunnel', 'auto', { mtu: new Map([['eth0', 1300]]) }, good, 'link / l2,route / SmallPackets'],
    ['an unknown MTU', 'auto', { mtu: new Map() }, good, 'link,vxlan / l2,route,vxlan / '],
    ['no address', 'auto', { addresses: [] }, good, 'vxlan / vxlan / '],
  ])('%s', (_, mode, facts, of, expected) => {
    expect(outcome(mode, facts, of)).toBe(expected);
  });

  test('the report has the networks, link addresses and interfaces of the node', () => {
    const { report } = directReturnPreflight('auto', good);
    expect(report.networks.map(formatPrefix)).toEqual(['10.0.0.0/24', 'fd00::/64']);
    expect(report.linkAddresses).toEqual(['02:00:00:00:00:01', '02:00:00:00:00:02']);
    expect(report.interfaces).toEqual(['eth0']);
  });

  test('every reason has a sentence and a fix', () => {
    const worst = { ...good, strict: new Set(['eth0']), filters: [filter], lacks: { l2: 'a', vxlan: 'b' } };
    const reasons = directReturnPreflight('auto', worst).reasons;
    expect(reasons.map(({ code }) => code)).toHaveLength(4);
    expect(directReturnPreflight('l2', router).reasons).toMatchObject([{ code: 'DirectReturnNotOnLink', details: { mode: 'l2' } }]);
    for (const reason of reasons) expect([reasonText(reason), remedyText(reason)]).not.toContain('');
    expect(remedyText(reasons[0] as (typeof reasons)[0])).toContain('sysctl -w net.ipv4.conf.eth0.rp_filter=2');
  });
});
