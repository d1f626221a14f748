import { describe, expect, it } from 'vitest';
import { tcpAo, type TcpAoKeyInput } from '../../../../src/bgp/extensions/tcp-ao/index.ts';
import { PeerOptionsError, Speaker, UnknownOptionError, type PeerOptions } from '../../../../src/bgp/index.ts';
import { MemoryNetwork } from '../../../../src/bgp/transport/memory-network.ts';
import { MemoryTransport } from '../../../../src/bgp/transport/memory-transport.ts';
import { address } from '../../../../src/net/address.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const peer: PeerOptions = { address: '10.0.0.1', peerAsn: 65_001 };
const old: TcpAoKeyInput = { sendId: 1, receiveId: 2, secret: 'hush' };

/** A speaker that dials, and one that waits for it. */
function bed(ofDialer: Partial<PeerOptions>, ofListener: Partial<PeerOptions>) {
  const clock = new VirtualClock();
  const network = new MemoryNetwork(clock, 1);
  const common = { clock, random: () => 0.5 };
  const node = new Speaker({ ...common, asn: 64_512, routerId: '10.0.0.11', transport: network.host([address('10.0.0.11')]) });
  const host = network.host([address('10.0.0.1')]);
  const router = new Speaker({ ...common, asn: 65_001, routerId: '10.0.0.1', listen: [{}], transport: host });
  router.addPeer({ address: '10.0.0.11', peerAsn: 64_512, passive: true, ...ofListener });
  const dialer = node.addPeer({ ...peer, ...ofDialer });
  clock.advance(60_000);
  return { dialer, clock };
}

describe('a session with TCP-AO', () => {
  it.each<[string, Partial<PeerOptions>, boolean]>([
    ['the same key with the IDs exchanged', { tcpAo: tcpAo([{ sendId: 2, receiveId: 1, secret: 'hush' }]) }, true],
    [
      'a further key',
      {
        tcpAo: tcpAo([
          { sendId: 7, receiveId: 7, secret: 'new' },
          { sendId: 2, receiveId: 1, secret: 'hush' },
        ]),
      },
      true,
    ],
    ['another secret', { tcpAo: tcpAo([{ sendId: 2, receiveId: 1, secret: 'other' }]) }, false],
    ['another algorithm', { tcpAo: tcpAo([{ sendId: 2, receiveId: 1, secret: 'hush', algorithm: 'cmac(aes128)' }]) }, false],
    ['the IDs not exchanged', { tcpAo: tcpAo([old]) }, false],
    ['a password', { password: 'hush' }, false],
    ['nothing', {}, false],
  ])('BGP-126 with a peer that has %s', (_, ofListener, works) => {
    const { dialer } = bed({ tcpAo: tcpAo([old]) }, ofListener);
    expect(dialer.status().state === 'Established').toBe(works);
    if (works) return;
    expect(dialer.status().lastError).toContain('the keys of TCP-AO may differ from those that the peer has for us');
  });

  it('BGP-126 is not made by a peer without keys', () => {
    expect(bed({}, { tcpAo: tcpAo([old]) }).dialer.status().state).not.toBe('Established');
  });

  it('never shows a secret in status, history or the log', () => {
    const lines: unknown[] = [];
    const write = (...line: unknown[]): void => void lines.push(line);
    const log = { debug: write, info: write, warn: write, error: write };
    const clock = new VirtualClock();
    const transport = new MemoryTransport(clock);
    transport.incapable = 'this kernel has no TCP-AO';
    const speaker = new Speaker({ asn: 64_512, routerId: '10.0.0.11', listen: [{}], clock, random: () => 0.5, transport, log });
    const tor = speaker.addPeer({ ...peer, tcpAo: tcpAo([old]) });
    clock.advance(1_000);
    expect(tor.status().lastError).toBe('this kernel has no TCP-AO');
    expect(transport.keys).toMatchObject([{ tcpAo: { keys: [{ ...old, algorithm: 'hmac(sha1)' }] } }]);
    tor.reconfigure({ ...peer, tcpAo: tcpAo([{ ...old, secret: 'hush2' }]) });
    clock.advance(1_000);
    expect(lines.length).toBeGreaterThan(0);
    expect(JSON.stringify([tor.status(), tor.history(), lines])).not.toContain('hush');
  });

  it('BGP-126 is opened again when a key changes on a transport that cannot replace keys', async () => {
    const clock = new VirtualClock();
    const transport = new MemoryTransport(clock);
    const speaker = new Speaker({ asn: 64_512, routerId: '10.0.0.11', clock, random: () => 0.5, transport });
    const tor = speaker.addPeer({ ...peer, tcpAo: tcpAo([old]) });
    clock.advance(0);
    tor.reconfigure({ ...peer, tcpAo: tcpAo([{ ...old, algorithm: 'hmac(sha1)' }]) });
    expect(transport.remote.closed || transport.remote.ended).toBe(false);
    tor.reconfigure({ ...peer, tcpAo: tcpAo([{ sendId: 3, receiveId: 4, secret: 'new' }, old]) });
    clock.advance(0);
    transport.remote.close();
    for (let turn = 0; turn < 4; turn++) {
      clock.advance(2_000);
      await Promise.resolve();
    }
    expect(transport.dialed.map(({ tcpAo: of }) => of?.keys.map(({ sendId }) => sendId))).toEqual([[1], [3, 1]]);
  });

  describe('whose keys change', () => {
    const fresh: TcpAoKeyInput = { sendId: 3, receiveId: 4, secret: 'hush-new' };

    /** A session in OpenSent, whose open connection answers to other keys like this. */
    function running(answer: string | undefined, of: Partial<PeerOptions> = { tcpAo: tcpAo([old]) }) {
      const lines: unknown[] = [];
      const write = (...line: unknown[]): void => void lines.push(line);
      const clock = new VirtualClock();
      const transport = new MemoryTransport(clock);
      const given: (readonly number[])[] = [];
      transport.replaceKeys = ({ keys }) => {
        given.push(keys.map(({ sendId }) => sendId));
        return answer;
      };
      const log = { debug: write, info: write, warn: write, error: write };
      const speaker = new Speaker({ asn: 64_512, routerId: '10.0.0.11', listen: [{}], clock, random: () => 0.5, transport, log });
      const tor = speaker.addPeer({ ...peer, ...of });
      clock.advance(10);
      const change = async (next: Partial<PeerOptions>): Promise<void> => {
        tor.reconfigure({ ...peer, ...next });
        clock.advance(0);
        if (transport.remote.ended) transport.remote.close();
        for (let turn = 0; turn < 4; turn++) {
          clock.advance(2_000);
          await Promise.resolve();
        }
      };
      const dialed = (): unknown => transport.dialed.map(({ tcpAo: of }) => of?.keys.map(({ sendId }) => sendId));
      const listenerKeys = (): unknown => transport.keys.map(({ tcpAo: of }) => of?.keys.map(({ sendId }) => sendId));
      return { change, given, dialed, listenerKeys, tor, text: () => JSON.stringify(lines) };
    }

    it('BGP-132 goes on with the new keys, which the next connections have too', async () => {
      const bed = running(undefined);
      await bed.change({ tcpAo: tcpAo([fresh, old]) });
      expect([bed.given, bed.dialed(), bed.listenerKeys()]).toEqual([[[3, 1]], [[1]], [[3, 1]]]);
      await bed.change({ tcpAo: tcpAo([fresh]), keepaliveTime: 20 });
      expect([bed.given, bed.dialed(), bed.listenerKeys()]).toEqual([[[3, 1], [3]], [[1]], [[3]]]);
      expect(bed.tor.status().state).toBe('OpenSent');
      expect(bed.text()).toContain('TCP-AO keys of the running session changed');
      expect(bed.text()).not.toContain('hush');
    });

    it('BGP-132 is opened again with the new keys if the connection cannot take them, and logs why', async () => {
      const bed = running('the kernel refuses');
      await bed.change({ tcpAo: tcpAo([fresh]) });
      expect([bed.given, bed.dialed()]).toEqual([[[3]], [[1], [3]]]);
      expect(bed.text()).toContain('the kernel refuses');
      expect(bed.text()).not.toContain('hush');
    });

    it('BGP-132 dials at once with the new keys if it has no connection', async () => {
      const clock = new VirtualClock();
      const transport = new MemoryTransport(clock);
      transport.answer = { kind: 'refused', detail: 'for a test' };
      transport.replaceKeys = () => undefined;
      const speaker = new Speaker({ asn: 64_512, routerId: '10.0.0.11', clock, random: () => 0.5, transport });
      const tor = speaker.addPeer({ ...peer, tcpAo: tcpAo([old]) });
      clock.advance(10);
      tor.reconfigure({ ...peer, tcpAo: tcpAo([fresh]) });
      await Promise.resolve();
      clock.advance(10);
      expect(transport.dialed.map(({ tcpAo: of }) => of?.keys.map(({ sendId }) => sendId))).toEqual([[1], [3]]);
    });

    it.each<[string, Partial<PeerOptions>, Partial<PeerOptions>, unknown]>([
      ['it had none', {}, { tcpAo: tcpAo([old]) }, [undefined, [1]]],
      ['it has none any more', { tcpAo: tcpAo([old]) }, {}, [[1], undefined]],
      ['another option resets it too', { tcpAo: tcpAo([old]) }, { tcpAo: tcpAo([fresh]), holdTime: 30 }, [[1], [3]]],
    ])('BGP-132 is closed and opened again, without asking the connection, when %s', async (_, before, after, dialed) => {
      const bed = running(undefined, before);
      await bed.change(after);
      expect([bed.given, bed.dialed()]).toEqual([[], dialed]);
    });
  });

  it('BGP-126 has the keys of a group for its whole range', () => {
    const clock = new VirtualClock();
    const transport = new MemoryTransport(clock);
    const speaker = new Speaker({ asn: 64_512, routerId: '10.0.0.11', listen: [{}], clock, random: () => 0.5, transport });
    speaker.addPeerGroup({ name: 'nodes', ranges: ['10.1.0.0/24'], peerAsn: 'external', tcpAo: tcpAo([old]) });
    expect(transport.keys).toMatchObject([{ prefix: { length: 24 }, tcpAo: { keys: [{ ...old, algorithm: 'hmac(sha1)' }] } }]);
  });
});

describe('the option tcpAo', () => {
  const speaker = new Speaker({ asn: 64_512, routerId: '10.0.0.11', transport: new MemoryTransport(new VirtualClock()) });
  const add =
    (keys: unknown, rest: Partial<PeerOptions> = {}) =>
    () =>
      speaker.addPeer({ ...peer, ...rest, tcpAo: tcpAo(keys as TcpAoKeyInput[]) });

  it.each<[string, unknown, string]>([
    ['no key', [], 'has from 1 to 16 keys'],
    ['too many keys', Array.from({ length: 17 }, (_, id) => ({ ...old, sendId: id, receiveId: id })), 'has from 1 to 16 keys'],
    ['a sendId above 255', [{ ...old, sendId: 256 }], 'sendId and receiveId are numbers from 0 to 255'],
    ['a receiveId that is no whole number', [{ ...old, receiveId: 1.5 }], 'sendId and receiveId are numbers from 0 to 255'],
    ['a key without a receiveId', [{ sendId: 1, secret: 'hush' }], 'sendId and receiveId are numbers from 0 to 255'],
    ['an empty secret', [{ ...old, secret: '' }], 'a secret has 1 to 80 octets'],
    ['a secret of 81 octets', [{ ...old, secret: `${'ü'.repeat(40)}h` }], 'a secret has 1 to 80 octets'],
    ['an unknown algorithm', [{ ...old, algorithm: 'hmac(md5)' }], 'algorithm is one of hmac(sha1), cmac(aes128)'],
    ['an algorithm with the name of a method', [{ ...old, algorithm: 'toString' }], 'algorithm is one of'],
    ['two keys with one sendId', [old, { ...old, receiveId: 3 }], 'two keys have the same sendId'],
    ['two keys with one receiveId', [old, { ...old, sendId: 3 }], 'two keys have the same receiveId'],
  ])('refuses %s, without the secret', (_, keys, words) => {
    expect(add(keys)).toThrow(PeerOptionsError);
    expect(add(keys)).toThrow(`tcpAo: ${words}`);
    expect(add(keys)).not.toThrow(/hush|üü/);
  });

  it('refuses a password besides the keys, and an unknown part of a key', () => {
    expect(add([old], { password: 'hush' })).toThrow('tcpAo: cannot be combined with password');
    expect(add([{ ...old, keyId: 1 }])).toThrow(UnknownOptionError);
    expect(add([{ ...old, sendid: 1 }])).toThrow('did you mean tcpAo.sendId?');
  });

  it('refuses keys that are not from tcpAo()', () => {
    expect(() => speaker.addPeer({ ...peer, tcpAo: [old] } as unknown as PeerOptions)).toThrow(
      'tcpAo: is what tcpAo() of herald/bgp/tcp-ao returns',
    );
  });
});
