import { describe, expect, test } from 'vitest';
import { localOpenMessage, type LocalOpen } from '../../../../src/bgp/negotiation/local-open.ts';
import { Speaker, type PeerOptions, type SpeakerOptions } from '../../../../src/bgp/index.ts';
import { MemoryTransport } from '../../../../src/bgp/transport/memory-transport.ts';
import { keepaliveMessage } from '../../../../src/bgp/wire/header.ts';
import { decodeOpen, encodeOpen } from '../../../../src/bgp/wire/open.ts';
import { encodeRouteRefresh } from '../../../../src/bgp/wire/route-refresh.ts';
import { address } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { hex, messages, toHex } from '../hex.ts';
import { notificationsIn, routerIdentity, routerOptions } from '../scripted-router.ts';

const options: PeerOptions = { ...routerOptions, gracefulRestart: { restartTime: 60 } };
/** The OPEN parameters of a peer that is a restart helper only: its list of families to preserve is empty (RFC 4724 4). */
const helper: LocalOpen = {
  ...routerIdentity,
  gracefulRestart: { restartTime: 120, restarted: false, forwardingPreserved: false },
};
const endOfRib = '2 00000000';

/** Starts a speaker of ours with one scripted peer. */
function run(change: Partial<PeerOptions> = {}, speakerOptions: SpeakerOptions = {}, clock = new VirtualClock()) {
  const transport = new MemoryTransport(clock);
  transport.localAddress = address('10.0.0.2');
  const speaker = new Speaker({ clock, random: () => 0.999_999, transport, ...speakerOptions });
  const peer = speaker.addPeer({ ...options, ...change });
  const sent = (): string[] => messages(transport.remote.take()).map(({ type, body }) => `${type} ${toHex(body)}`);
  const answer = (open: LocalOpen | undefined = helper, without: readonly string[] = []): string[] => {
    clock.advance(0);
    const openMessage = localOpenMessage(open);
    const capabilities = openMessage.capabilities.filter(({ kind }) => !without.includes(kind));
    for (const message of [encodeOpen({ ...openMessage, capabilities }), keepaliveMessage]) transport.remote.send(message);
    clock.advance(0);
    clock.advance(0);
    return sent();
  };
  const restartCapability = () => {
    const [, body = ''] = sent()[0]?.split(' ') ?? [];
    const open = decodeOpen(hex(body));
    return open.ok ? open.value.capabilities.find(({ kind }) => kind === 'gracefulRestart') : undefined;
  };
  const notifications = (): string[] => notificationsIn(transport.remote.take());
  return { clock, transport, speaker, peer, sent, answer, restartCapability, notifications };
}

describe('BGP-102 the graceful restart capability in OPEN', () => {
  test('the capability is absent unless graceful restart is configured', () => {
    const { gracefulRestart: _, ...plain } = options;
    const { clock, transport, speaker, sent } = run();
    clock.advance(0);
    expect(sent()).toHaveLength(1);
    speaker.addPeer({ ...plain, name: 'plain' });
    clock.advance(0);
    const open = decodeOpen(messages(transport.remote.take())[0]?.body ?? hex(''));
    const kinds = open.ok ? open.value.capabilities.map(({ kind }) => kind) : [];
    expect(kinds).toContain('fourOctetAsn');
    expect(kinds).not.toContain('gracefulRestart');
  });

  test('the first start sets neither the restart bit nor the forwarding bit', () => {
    const { clock, restartCapability } = run();
    clock.advance(0);
    expect(restartCapability()).toEqual({
      kind: 'gracefulRestart',
      restarted: false,
      notification: true,
      restartTime: 60,
      families: [{ afi: 1, safi: 1, forwardingPreserved: false }],
    });
  });

  test('a restart sets both bits in the first session, then only the forwarding bit', () => {
    const { clock, transport, answer, peer, restartCapability } = run({}, { restarted: true });
    clock.advance(0);
    expect(restartCapability()).toMatchObject({ restarted: true, families: [{ forwardingPreserved: true }] });
    answer();
    expect(peer.status().state).toBe('Established');
    transport.remote.close({ kind: 'reset', detail: 'reset by the peer' });
    clock.advance(6_000);
    expect(restartCapability()).toMatchObject({ restarted: false, families: [{ forwardingPreserved: true }] });
  });

  test('the restart bit ends with the restart time, in which the peer retains the routes', () => {
    const { clock, transport, restartCapability } = run({}, { restarted: true });
    transport.answer = { kind: 'refused', detail: '' };
    clock.advance(61_000);
    transport.answer = 'accept';
    clock.advance(6_000);
    expect(restartCapability()).toMatchObject({ restarted: false });
  });
});

describe('BGP-102 End-of-RIB with graceful restart', () => {
  test('End-of-RIB is sent after the complete set of routes, not after single updates', () => {
    const { clock, sent, answer, peer } = run({}, { restarted: true });
    expect(answer()).not.toContain(endOfRib);
    peer.routes.update({ announce: [{ prefix: prefix('192.0.2.1/32') }] });
    clock.advance(0);
    const first = sent();
    expect(first).toHaveLength(1);
    expect(first[0]).toMatch(/20c0000201$/);
    peer.routes.set([{ prefix: prefix('192.0.2.1/32') }, { prefix: prefix('192.0.2.2/32') }]);
    clock.advance(0);
    expect(sent()).toEqual([expect.stringMatching(/20c0000202$/), endOfRib]);
  });

  test('End-of-RIB is sent at once when graceful restart was not negotiated', () => {
    const { answer } = run();
    expect(answer(helper, ['gracefulRestart'])).toContain(endOfRib);
  });

  test('BGP-083 a refresh before End-of-RIB has no BoRR and EoRR marks, a later one has them', () => {
    const { answer, peer, clock, sent, transport } = run({}, { restarted: true });
    answer();
    const refresh = (): string[] => {
      transport.remote.send(encodeRouteRefresh({ afi: 1, subtype: 0, safi: 1 }));
      clock.advance(0);
      clock.advance(0);
      return sent();
    };
    peer.routes.update({ announce: [{ prefix: prefix('192.0.2.1/32') }] });
    clock.advance(0);
    expect(sent()).toHaveLength(1);
    expect(refresh()).toEqual([expect.stringMatching(/^2 .*20c0000201$/)]);
    peer.routes.set([{ prefix: prefix('192.0.2.1/32') }]);
    clock.advance(0);
    expect(sent()).toEqual([endOfRib]);
    expect(refresh()).toEqual(['5 00010101', expect.stringMatching(/^2 .*20c0000201$/), '5 00010201']);
  });

  test('End-of-RIB is sent when the complete set of routes is empty', () => {
    const { answer, peer, clock, sent } = run();
    expect(answer()).not.toContain(endOfRib);
    peer.routes.set([]);
    clock.advance(0);
    expect(sent()).toEqual([endOfRib]);
  });
});

describe('BGP-103 the end of a session with graceful restart', () => {
  const endings: readonly [string, string, readonly string[], string[]][] = [
    ['silently for a restart when graceful restart was negotiated', 'restart', [], []],
    [
      'with 6/2 for a restart when graceful restart was not negotiated',
      'restart',
      ['gracefulRestart'],
      ['Cease: Administrative Shutdown (6/2): "upgrade"'],
    ],
    [
      'with a Hard Reset for a shutdown when graceful restart was negotiated',
      'shutdown',
      [],
      ['Cease: Hard Reset (6/9) of Cease: Administrative Shutdown (6/2): "upgrade"'],
    ],
    [
      'with 6/2 for a shutdown when graceful restart was not negotiated',
      'shutdown',
      ['gracefulRestart'],
      ['Cease: Administrative Shutdown (6/2): "upgrade"'],
    ],
  ];
  test.each(endings)('a session ends %s', async (_, mode, without, expected) => {
    const { clock, answer, speaker, transport, notifications } = run();
    answer(helper, without);
    const stopped = speaker.stop({ message: 'upgrade', mode: mode === 'restart' ? 'restart' : 'shutdown' });
    expect(notifications()).toEqual(expected);
    expect(transport.remote.ended).toBe(true);
    transport.remote.close();
    clock.advance(0);
    await stopped;
  });

  test('BGP-103 a restart before Established is silent, as the peer may retain earlier routes', () => {
    for (const open of [[], [encodeOpen(localOpenMessage(helper))]]) {
      const { clock, speaker, transport, notifications } = run({}, { restarted: true });
      clock.advance(0);
      for (const message of open) transport.remote.send(message);
      clock.advance(0);
      void speaker.stop({ mode: 'restart' });
      expect(notifications()).toEqual([]);
      expect(transport.remote.ended).toBe(true);
    }
  });

  test('BGP-104 adminDown and removal send a Hard Reset where routes outlive a NOTIFICATION', () => {
    const { answer, peer, notifications } = run();
    answer();
    peer.reconfigure({ ...options, adminDown: true, shutdownMessage: 'maintenance' });
    expect(notifications()).toEqual(['Cease: Hard Reset (6/9) of Cease: Administrative Shutdown (6/2): "maintenance"']);
    const removed = run();
    removed.answer();
    removed.speaker.removePeer('tor');
    expect(removed.notifications()).toEqual(['Cease: Hard Reset (6/9) of Cease: Peer De-configured (6/3)']);
  });

  test('BGP-104 an expired hold timer sends a plain NOTIFICATION, so that the peer retains the routes', () => {
    const { clock, answer, notifications, transport } = run();
    answer();
    transport.remote.take();
    clock.advance(9_001);
    clock.advance(1);
    expect(notifications()).toEqual(['Hold Timer Expired (4/0)']);
  });

  test.each<Partial<PeerOptions>>([{ address: '10.0.0.9' }, { port: 1179 }, { sourceAddress: '10.0.0.3' }, { interface: 'eth1' }])(
    'BGP-053 a changed endpoint sends a Hard Reset, as the session cannot come back: %j',
    (change) => {
      const { answer, peer, notifications } = run();
      answer();
      peer.reconfigure({ ...options, ...change });
      expect(notifications()).toEqual(['Cease: Hard Reset (6/9) of Cease: Other Configuration Change (6/6)']);
    },
  );

  test('BGP-053 a change that resets the session is silent where the peer retains the routes', () => {
    const { answer, peer, notifications, transport } = run();
    answer();
    peer.reconfigure({ ...options, holdTime: 30 });
    expect(notifications()).toEqual([]);
    expect(transport.remote.ended).toBe(true);
  });
});
