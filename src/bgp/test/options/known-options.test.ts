import { expect, test } from 'vitest';
import { Speaker, UnknownOptionError, type PeerOptions } from '../../../../src/bgp/index.ts';
import { MemoryTransport } from '../../../../src/bgp/transport/memory-transport.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const clock = new VirtualClock();
const components = { clock, random: () => 0.5, transport: new MemoryTransport(clock) };
const tor = { address: '10.0.0.1', peerAsn: 65001 };
const make = (): Speaker => new Speaker({ ...components, asn: 64512, routerId: '10.0.0.11' });

test.each<[object, string, string | undefined]>([
  [{ holdtime: 9 }, 'holdtime', 'holdTime'],
  [{ ebgpMultihop: true }, 'ebgpMultihop', 'ebgpMultiHop'],
  [{ md5: 'secret' }, 'md5', undefined],
  [{ colour: undefined }, 'colour', undefined],
  [{ gracefulRestart: { restarttime: 60 } }, 'gracefulRestart.restarttime', 'gracefulRestart.restartTime'],
  [{ nextHop: { ip4: '10.0.0.11' } }, 'nextHop.ip4', 'nextHop.ipv4'],
  [{ maximumPrefixes: { v4: 10 } }, 'maximumPrefixes.v4', undefined],
])('a peer refuses an unknown option and names the nearest one: %j', (wrong, option, nearest) => {
  const speaker = make();
  const given = { ...tor, ...wrong } as PeerOptions;
  const expected = { code: 'ERR_BGP_UNKNOWN_OPTION', option, nearest };
  const add = (): unknown => speaker.addPeer(given);
  expect(add).toThrow(UnknownOptionError);
  expect(add).toThrow(expect.objectContaining(expected));
  expect(add).toThrow(`${option}: a peer has no such option${nearest === undefined ? '' : `, did you mean ${nearest}?`}`);
  expect(speaker.peers).toEqual([]);
  const peer = speaker.addPeer(tor);
  expect(() => peer.reconfigure(given)).toThrow(expect.objectContaining(expected));
});

test.each<[object, string, string | undefined]>([
  [{ asm: 64512 }, 'asm', 'asn'],
  [{ routerID: '10.0.0.11' }, 'routerID', 'routerId'],
  [{ onchange: () => {} }, 'onchange', 'onChange'],
  [{ listen: [{ adress: '10.0.0.11' }] }, 'listen.adress', 'listen.address'],
])('a speaker refuses an unknown option and names the nearest one: %j', (wrong, option, nearest) => {
  const made = (): Speaker => new Speaker({ ...components, ...wrong });
  expect(made).toThrow(UnknownOptionError);
  expect(made).toThrow(expect.objectContaining({ option, nearest }));
});

test('a message about an unknown option never contains its value', () => {
  const add = (): unknown => make().addPeer({ ...tor, pasword: 'hunter2' } as PeerOptions);
  expect(add).toThrow('did you mean password?');
  expect(add).not.toThrow('hunter2');
});
