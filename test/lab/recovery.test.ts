import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { nodes, longTimeouts, RecoveryBed } from './recovery-bed.ts';
import {
  clearSessions,
  endSilence,
  flapUntilHeldBack,
  loseConnections,
  loseConnectionsAndConnect,
  loseBgpInSilence,
  interruptLink,
  restartTor,
} from './recovery-faults.ts';

/**
 * Faults between a node and its ToRs: the time until all is as before, and the requests that a client loses meanwhile. Times are printed.
 * Tests assert which side notices a fault, and by which error. `npm run bench:recovery` checks times against bounds.
 */
let bed: RecoveryBed;

beforeAll(async () => {
  bed = await RecoveryBed.start(longTimeouts);
});

// A silence that a failed test left would fail the tests after it.
afterEach(() => endSilence(bed));

afterAll(async () => {
  await bed?.lab.stop();
});

function figures(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted.map(Math.round).join(', ');
}

describe('sessions that are cleared repeatedly', () => {
  test('they return after the usual pause each time, are not held back, and no later request fails', async () => {
    const stream = bed.stream();
    const times: number[] = [];
    for (let flap = 0; flap < 6; flap++) times.push(await clearSessions(bed));
    const { text, late } = await stream.stop();
    console.info(`clear bgp, from the command to both sessions up: ${figures(times)} ms; ${text}`);
    expect(late).toBe(0);
    for (const { damping, lastError } of await bed.sessions('node1', 'tor1')) {
      expect(lastError).toMatch(/Administrative Reset/);
      expect(damping).toBeUndefined();
    }
  });
});

describe('a ToR whose FRR is killed and started', () => {
  async function restart(): Promise<readonly [down: number, back: number, text: string]> {
    const stream = bed.stream();
    const { noticed, back } = await restartTor(bed);
    const { text, late } = await stream.stop();
    expect(late).toBe(0);
    return [noticed, back, text];
  }

  test('sessions and routes return after the usual pause twice, without damping', async () => {
    for (const time of ['once', 'twice']) {
      const [noticed, back, text] = await restart();
      console.info(`FRR killed ${time}: noticed after ${noticed} ms, all routes ${back} ms after it was started; ${text}`);
    }
    for (const node of nodes) {
      for (const { damping, lastError } of await bed.sessions(node, 'tor1')) {
        // "Refused" is a connection attempt while FRR was down. None of the errors is the hold timer.
        expect(lastError).toMatch(/closed the connection|reset|refused/);
        expect(damping).toMatchObject({ flapsInLastHour: 2 });
        expect(damping?.until).toBeUndefined();
      }
    }
  });

  test('sessions return and count one flap with graceful restart at our end', async () => {
    const restore = await bed.withPeers((text) => text.replaceAll('connectTime: 1s', 'connectTime: 1s, enableGracefulRestart: true'));
    for (const { damping } of await bed.sessions('node1', 'tor1')) expect(damping).toBeUndefined();
    const [noticed, back, text] = await restart();
    console.info(
      `FRR killed, graceful restart at our end: noticed after ${noticed} ms, all routes ${back} ms after it was started; ${text}`,
    );
    // FRR helps with our restarts. It does not restart gracefully itself unless configured.
    expect((await bed.sessions('node1', 'tor1')).map(({ damping }) => damping?.flapsInLastHour)).toEqual([1, 1]);
    await restore();
  });
});

describe('the link between a node and a ToR', () => {
  test.each([
    ['is unplugged', 'unplugged'],
    ['is cut silently', 'cut'],
  ] as const)('%s: both ends notice by the hold time, the other ToR is not affected, and the link recovers', async (what, how) => {
    const stream = bed.stream();
    const before = (await bed.sessions('node1', 'tor2')).map(({ since }) => since);
    const { noticedByTor, noticed, back, sessions } = await interruptLink(bed, how);
    for (const { lastError } of sessions) expect(lastError).toMatch(/hold timer expired|Hold Timer Expired|unreachable|no answer/);
    const { text, late } = await stream.stop();
    console.info(
      `a link ${what}: the ToR sends elsewhere after ${noticedByTor} ms, the node noticed after ${noticed} ms ` +
        `(hold time ${longTimeouts.holdTime} s), all routes ${back} ms after its return; ${text}`,
    );
    expect(late).toBe(0);
    expect((await bed.sessions('node1', 'tor2')).map(({ since }) => since)).toEqual(before);
  });
});

describe('a half-open connection: the ToR lost its BGP state without a message', () => {
  test('the node notices by its hold time while the ToR stays silent', async () => {
    const stream = bed.stream();
    const { noticed, back, sessions } = await loseBgpInSilence(bed);
    for (const { lastError } of sessions) expect(lastError).toMatch(/hold timer expired|no answer/);
    const { text, late } = await stream.stop();
    console.info(
      `half-open connection, the ToR is silent: noticed after ${noticed} ms (hold time ${longTimeouts.holdTime} s), all routes ${back} ms later; ${text}`,
    );
    expect(late).toBe(0);
  });

  test("the node's next keepalive is reset and a new session begins when the ToR returns earlier", async () => {
    const restore = await bed.withPeers((text) => text.replaceAll(bed.timers, 'holdTime: 60s, keepaliveTime: 2s'));
    const stream = bed.stream();
    const { before, back, sessions } = await loseConnections(bed);
    expect(before.map(({ state }) => state)).toEqual(Array<string>(4).fill('Established'));
    // The hold timer did not end the session. It would have fired much later.
    for (const { lastError } of sessions) expect(lastError).toMatch(/reset by the peer/);
    await bed.untilAll();
    const { text, late } = await stream.stop();
    console.info(`half-open connection, the ToR waits: all sessions up ${back} ms after it returned; ${text}`);
    expect(late).toBe(0);
    await restore();
  });

  test.each([
    ['says that it has restarted: the connection is accepted', [], /has restarted and connected again/],
    [
      'does not say so: the connection is refused, the old one is probed, and the next one is accepted',
      ['bgp graceful-restart-disable'],
      /reset by the peer/,
    ],
  ] as const)('the session recovers before the hold time when the ToR connects and %s', async (what, commands, reason) => {
    const { before, back, sessions } = await loseConnectionsAndConnect(bed, commands);
    expect(before.map(({ state }) => state)).toEqual(Array<string>(4).fill('Established'));
    for (const { lastError } of sessions) expect(lastError).toMatch(reason);
    console.info(`half-open connection, the ToR connects and ${what}: all sessions up ${back} ms after it returned, hold time 60 s`);
  });
});

describe('a ToR whose bgpd is killed repeatedly', () => {
  test('its sessions are retried three times, then held back and reported, and others are not affected', async () => {
    const others = async (): Promise<(string | undefined)[]> => (await bed.sessions('node1', 'tor1')).map(({ since }) => since);
    const before = await others();
    const stream = bed.stream();
    const { sessions: held, waits } = await flapUntilHeldBack(bed);
    for (const { state, damping } of held) {
      expect(state).toBe('Idle');
      expect(damping).toMatchObject({ flapsInLastHour: 4 });
    }
    expect(await bed.herald.explain('shop/web')).toMatch(
      /the session with "tor2-v4" is held back until \S+, because it went down 4 times in the last hour, last because: .*\n\s+fix: .*flapDamping: false in BGPPeer "tor2-v4"/,
    );
    for (const wait of waits) expect(wait).toBeGreaterThan(10_000);
    await bed.untilAll(90_000);
    const { text, late } = await stream.stop();
    // No end connected before the time was up.
    for (const [index, { since }] of (await bed.sessions('node1', 'tor2')).entries()) {
      expect(Date.parse(since)).toBeGreaterThanOrEqual(Date.parse(held[index]?.damping?.until ?? ''));
    }
    console.info(`bgpd killed four times: held back for ${figures(waits)} ms, then up again; ${text}`);
    expect(late).toBe(0);
    expect(await others()).toEqual(before);
  });

  test('sessions held back start at once when the operator turns damping off', async () => {
    await bed.lab.router('tor2').restart('bgpd');
    await bed.lab.until('both sessions are held back', async (note) => {
      return note(await bed.sessions('node1', 'tor2')).every(({ damping }) => damping?.until !== undefined);
    });
    const turnedOff = Date.now();
    await bed.herald.edit('20-herald.yaml', (text) => text.replaceAll('connectTime: 1s', 'connectTime: 1s, flapDamping: false'));
    await bed.untilAll();
    console.info(`flapDamping turned off while a session is held back: all up ${Date.now() - turnedOff} ms later`);
    const [session] = await bed.sessions('node1', 'tor2');
    expect(session?.damping).toMatchObject({ flapsInLastHour: 5 });
    expect(session?.damping?.until).toBeUndefined();
  });
});

describe('an uplink that is renamed', () => {
  test('its sessions stay and no request fails, because the node keeps its address and its link', async () => {
    const sinceOf = async () => (await bed.sessions('node1', 'tor1')).map(({ peer, state, since }) => ({ peer, state, since }));
    const before = await sinceOf();
    const lines = bed.herald.agent('node1').lines().length;
    const stream = bed.stream();
    await bed.lab.node('node1').exec(['ip', 'link', 'set', 'dev', 'tor1', 'name', 'uplink']);
    try {
      // Longer than the interval at which the agent reads the settings of its interfaces.
      await sleep(4_000);
      const { text, failed } = await stream.stop();
      console.info(`renamed uplink: ${text}`);
      expect(failed).toBe(0);
      expect(await sinceOf()).toEqual(before);
      const later = bed.herald.agent('node1').lines().slice(lines);
      expect(later.filter((line) => /session down|problems of the host/.test(line))).toEqual([]);
    } finally {
      await bed.lab.node('node1').exec(['ip', 'link', 'set', 'dev', 'uplink', 'name', 'tor1']);
    }
  });
});
