import { expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import { exposeBgp } from '../../../../src/agent/metrics/bgp-metrics.ts';
import type { Speaker } from '../../../../src/bgp/index.ts';
import type { SessionStatus } from '../../../../src/model/objects/node-state.ts';
import { Metrics } from '../../../../src/telemetry/metrics.ts';
import { pair } from '../../bgp/two-speakers.ts';
import { sampleOf } from '../../telemetry/scrape.ts';

function scraped(speaker: Speaker, sessions: readonly SessionStatus[] = []): Promise<string> {
  const metrics = new Metrics();
  exposeBgp(metrics, { speaker, sessions: () => sessions, bfd: () => undefined });
  return metrics.text();
}

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
  const session = (peer: string, damping?: SessionStatus['damping']): SessionStatus => ({
    peer,
    address: '10.0.0.2',
    state: 'Idle',
    since: '',
    localASN: 64512,
    peerASN: 65001,
    prefixesSent: 0,
    ...defined({ damping }),
  });
  const flapped = { penalty: 3900, flapsInLastHour: 4 };
  const text = await scraped(left.speaker, [
    session('held', { ...flapped, until: '2026-01-01T00:00:20Z' }),
    session('over', flapped),
    session('calm'),
  ]);
  const held = ['held', 'over', 'calm'].map((peer) => sampleOf(text, `herald_bgp_session_held_back{peer="${peer}"}`));
  expect(held).toEqual([1, 0, 0]);
});
