import { expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import { exposeBgp } from '../../../../src/agent/metrics/bgp-metrics.ts';
import type { Speaker } from '../../../../src/bgp/index.ts';
import type { SessionStatus } from '../../../../src/model/objects/node-state.ts';
import { reason, type Reason } from '../../../../src/model/reasons.ts';
import { Metrics } from '../../../../src/telemetry/metrics.ts';
import { pair } from '../../../../src/bgp/test/two-speakers.ts';
import { sampleOf } from '../../telemetry/scrape.ts';

function scraped(speaker: Speaker, sessions: readonly SessionStatus[] = []): Promise<string> {
  const metrics = new Metrics();
  const installedRoutes = () => ({ ipv4: 1, ipv6: 0 });
  exposeBgp(metrics, { speaker, sessions: () => sessions, installedRoutes, bfd: () => undefined });
  return metrics.text();
}

const idle: SessionStatus = {
  peer: 'tor',
  address: '10.0.0.2',
  state: 'Idle',
  since: '',
  localASN: 64512,
  peerASN: 65001,
  prefixesSent: 0,
};

test('a path loss by BFD has a flap counter of its own, which exists before the first flap', async () => {
  const { clock, left, right } = pair();
  left.start();
  right.start();
  clock.advance(2_000);
  const flaps = (text: string, reason: string) => sampleOf(text, `herald_bgp_session_flaps_total{peer="right",reason="${reason}"}`);
  const before = await scraped(left.speaker);
  expect([flaps(before, 'bfdDown'), flaps(before, 'stopped')]).toEqual([0, 0]);
  left.peer.pathLost();
  clock.advance(100);
  const after = await scraped(left.speaker);
  expect([flaps(after, 'bfdDown'), flaps(after, 'stopped')]).toEqual([1, 0]);
});

test('a held back session is shown as such, a flapped session that may start is not', async () => {
  const { left } = pair();
  left.start();
  const session = (peer: string, damping?: SessionStatus['damping']): SessionStatus => ({ ...idle, peer, ...defined({ damping }) });
  const flapped = { penalty: 3900, flapsInLastHour: 4 };
  const text = await scraped(left.speaker, [
    session('held', { ...flapped, until: '2026-01-01T00:00:20Z' }),
    session('over', flapped),
    session('calm'),
  ]);
  const held = ['held', 'over', 'calm'].map((peer) => sampleOf(text, `herald_bgp_session_held_back{peer="${peer}"}`));
  expect(held).toEqual([1, 0, 0]);
});

test('the problem of a session has the code of its cause while down, of its warning while up', async () => {
  const { left } = pair();
  left.start();
  const common = { router: '10.0.0.2', local: '10.0.0.1', since: '', latest: '' };
  const cause = reason('PeerAdminDown', { peer: 'down' });
  const bfd: Reason = reason('BFDDown', { ...common, peer: 'slow', why: 'there is no answer', profile: 'fast', tcpWorks: true });
  const family = reason('PeerFamilyNotNegotiated', { ...common, peer: 'half', family: 'IPv6', isAdded: true });
  const text = await scraped(left.speaker, [
    { ...idle, peer: 'down', cause },
    { ...idle, peer: 'slow', state: 'Established', warning: bfd },
    { ...idle, peer: 'half', state: 'Established', warning: family },
    { ...idle, peer: 'good', state: 'Established' },
  ]);
  expect(text.split('\n').filter((line) => line.startsWith('herald_bgp_session_problem'))).toEqual([
    'herald_bgp_session_problem{peer="down",reason="PeerAdminDown"} 1',
    'herald_bgp_session_problem{peer="slow",reason="BFDDown"} 1',
    'herald_bgp_session_problem{peer="half",reason="PeerFamilyNotNegotiated"} 1',
  ]);
});

test('received routes are counted by what became of them, only with import', async () => {
  const { clock, left, right } = pair();
  left.start({ import: { rules: [{ prefixes: ['0.0.0.0/0'] }] } });
  right.start();
  right.speaker.rib.set([{ prefix: '0.0.0.0/0' }, { prefix: '192.0.2.0/24' }]);
  clock.advance(2_000);
  const text = await scraped(left.speaker);
  const count = (state: string) => sampleOf(text, `herald_bgp_received_routes{peer="right",family="ipv4",state="${state}"}`);
  expect(['accepted', 'stale', 'installed'].map(count)).toEqual([1, 0, 1]);
  expect(sampleOf(text, 'herald_bgp_received_routes_refused{peer="right",reason="filter"}')).toBe(1);
  expect(await scraped(right.speaker)).not.toContain('herald_bgp_received_routes{');
});
