import { describe, expect, it } from 'vitest';
import { linuxTransport } from '../../../../src/bgp/transport/linux.ts';
import { encodeAddKey, encodeDeleteKey, encodeInfo } from '../../../../src/bgp/extensions/tcp-ao/socket-options.ts';
import { tcpAoSockets } from '../../../../src/bgp/extensions/tcp-ao/tcp-ao-sockets.ts';
import { nodeTransport } from '../../../../src/bgp/transport/node.ts';
import type { Connection, TcpAo, TcpAoKey, Transport } from '../../../../src/bgp/transport/transport.ts';
import { hostPrefix, prefix } from '../../../../src/net/prefix.ts';
import { loadLibc } from '../../../../src/system/ffi/libc.ts';
import { loopback, until } from './loopback.ts';
import { ConnectionRecorder, ListenerRecorder } from './recorder.ts';
import { recordingLibc } from './recording-libc.ts';

const real = loadLibc();
const ENOPROTOOPT = 92;
const ENOMEM = 12;
const EBUSY = 16;
const IPPROTO_TCP = 6;
const peer = { address: loopback[4], port: 1, ttl: 255 };
const range = prefix('198.51.100.0/24');

const key = (sendId: number, receiveId: number, secret: string, algorithm: TcpAoKey['algorithm'] = 'hmac(sha1)'): TcpAoKey => ({
  sendId,
  receiveId,
  secret,
  algorithm,
});

const ao = (...keys: readonly TcpAoKey[]): TcpAo => ({ keys, sockets: tcpAoSockets });

/** Shows the octets that are not zero, by their offset. */
function parts(bytes: Uint8Array): Record<number, string> {
  const found: Record<number, string> = {};
  for (const match of Buffer.from(bytes)
    .toString('latin1')
    .matchAll(/[^\0]+/g))
    found[match.index] = Buffer.from(match[0], 'latin1').toString('hex');
  return found;
}
const hex = (text: string): string => Buffer.from(text).toString('hex');

describe('struct tcp_ao_add', () => {
  it.each<[string, string, TcpAoKey, boolean, Record<number, string>]>([
    [
      'an IPv4 host, the key to begin with',
      '192.0.2.1/32',
      key(100, 200, 'secret'),
      true,
      // AF_INET, address, algorithm, set_current and set_rnext, prefix length and both IDs, key length and key.
      { 0: '02', 4: 'c0', 6: '0201', 128: hex('hmac(sha1)'), 196: '03', 202: '2064c8', 207: `06${hex('secret')}` },
    ],
    [
      'an IPv4 range, another key',
      '10.0.0.0/8',
      key(1, 2, 'x'.repeat(80), 'cmac(aes128)'),
      false,
      { 0: '02', 4: '0a', 128: hex('cmac(aes128)'), 202: '080102', 207: `50${hex('x'.repeat(80))}` },
    ],
    [
      'an IPv6 host',
      '2001:db8::1/128',
      key(255, 1, 'ü'),
      false,
      { 0: '0a', 8: '20010db8', 23: '01', 128: hex('hmac(sha1)'), 202: '80ff01', 207: '02c3bc' },
    ],
  ])('has %s', (_, of, added, first, expected) => {
    const bytes = encodeAddKey(prefix(of), added, first);
    expect(bytes).toHaveLength(288);
    expect(parts(bytes)).toEqual(expected);
  });
});

describe('struct tcp_ao_del', () => {
  it.each<[string, TcpAoKey, Record<number, string>]>([
    ['192.0.2.1/32', key(100, 200, 'secret'), { 0: '02', 4: 'c0', 6: '0201', 138: '2064c8' }],
    ['2001:db8::/32', key(7, 9, 'secret'), { 0: '0a', 8: '20010db8', 138: '200709' }],
  ])('has %s and the IDs, and no secret', (of, removed, expected) => {
    const bytes = encodeDeleteKey(prefix(of), removed);
    expect(bytes).toHaveLength(144);
    expect(parts(bytes)).toEqual(expected);
  });

  it('names the keys to go on with: the current one by send ID, the next by receive ID', () => {
    const bytes = encodeDeleteKey(prefix('192.0.2.1/32'), key(1, 2, 'secret'), { current: key(3, 4, 'b'), next: key(5, 6, 'c') });
    expect(parts(bytes)).toEqual({ 0: '02', 4: 'c0', 6: '0201', 132: '03', 138: '2001020306' });
  });
});

describe('struct tcp_ao_info_opt', () => {
  it('asks for a key by its receive ID', () => {
    const bytes = encodeInfo(key(3, 200, 'secret'));
    expect(bytes).toHaveLength(48);
    expect(parts(bytes)).toEqual({ 0: '02', 7: 'c8' });
  });
});

/** A transport whose kernel answers to options of TCP-AO and TCP MD5 like this, and these options as text. */
function withKernel(answer: (option: string) => number): { readonly transport: Transport; readonly options: string[] } {
  if (real === undefined) throw new Error('the native module koffi could not be loaded');
  const options: string[] = [];
  const { libc } = recordingLibc(real, ({ level, name, value = Buffer.alloc(0) }) => {
    const text = level === IPPROTO_TCP ? textOf(name, value) : undefined;
    if (text === undefined) return undefined;
    options.push(text);
    return answer(text);
  });
  return { transport: linuxTransport({ libc }), options };
}

/** Returns for example "add 1/2 first": the IDs of the key. */
function textOf(name: number | undefined, value: Buffer): string | undefined {
  if (name === 38) return `add ${value[203]}/${value[204]}${value[196] === 3 ? ' first' : ''}`;
  if (name === 39)
    return `delete ${value[139]}/${value[140]}${value[132] === 3 ? `, go on with ${value[141]}, ask for ${value[142]}` : ''}`;
  if (name === 40) return `ask for ${value[7]}`;
  if (name === 32) return value.readUInt16LE(130) === 0 ? 'delete password' : 'set password';
  return undefined;
}

describe.runIf(process.platform === 'linux')('TCP-AO on Linux', () => {
  const listen = (transport: Transport) => transport.listen({ address: loopback[4], port: 0 }, new ListenerRecorder());

  it('BGP-126 gives a dialed socket all keys, the first one to begin with', async () => {
    const { transport, options } = withKernel(() => 0);
    const recorder = new ConnectionRecorder();
    transport.dial({ ...peer, tcpAo: ao(key(1, 2, 'old'), key(3, 4, 'new')) }, recorder);
    expect(options).toEqual(['add 1/2 first', 'add 3/4']);
    await until('it is closed', () => recorder.isClosed);
  });

  it('BGP-126 gives a listening socket new keys before it removes the old ones', () => {
    const { transport, options } = withKernel(() => 0);
    const listener = listen(transport);
    const set = (...tcpAo: TcpAoKey[]): string[] => {
      options.length = 0;
      expect(listener.setKeys(tcpAo.length === 0 ? [] : [{ prefix: range, tcpAo: ao(...tcpAo) }])).toEqual(new Map());
      return [...options];
    };
    expect(set(key(1, 1, 'a'))).toEqual(['add 1/1']);
    expect(set(key(1, 1, 'a'))).toEqual([]);
    expect(set(key(1, 1, 'a'), key(2, 2, 'b'))).toEqual(['add 2/2']);
    expect(set(key(3, 3, 'c'), key(2, 2, 'b'))).toEqual(['add 3/3', 'delete 1/1']);
    // The kernel does not take two keys with one ID.
    expect(set(key(3, 3, 'other'), key(2, 2, 'b'))).toEqual(['delete 3/3', 'add 3/3']);
    expect(set()).toEqual(['delete 3/3', 'delete 2/2']);
    listener.close();
  });

  it('BGP-126 replaces a password of a listening socket by keys, and keys by a password', () => {
    const { transport, options } = withKernel(() => 0);
    const listener = listen(transport);
    listener.setKeys([{ prefix: range, password: 'hush' }]);
    listener.setKeys([{ prefix: range, tcpAo: ao(key(1, 1, 'a')) }]);
    listener.setKeys([{ prefix: range, password: 'hush' }]);
    expect(options).toEqual(['set password', 'delete password', 'add 1/1', 'delete 1/1', 'set password']);
    listener.close();
  });

  it('BGP-126 leaves no part of the keys behind when the kernel refuses one, and reports the peer', () => {
    const { transport, options } = withKernel((option) => (option === 'add 2/2' ? ENOMEM : 0));
    const listener = listen(transport);
    const keys = [{ prefix: range, tcpAo: ao(key(1, 1, 'hush'), key(2, 2, 'hush')) }];
    expect(listener.setKeys(keys).get(0)).toContain('raise net.core.optmem_max');
    expect(options).toEqual(['add 1/1', 'add 2/2', 'delete 1/1']);
    expect([...listener.setKeys(keys).keys()]).toEqual([0]);
    listener.close();
  });

  it('BGP-127 fails on a kernel without TCP-AO, and says which kernel has it', async () => {
    const { transport } = withKernel(() => ENOPROTOOPT);
    const why = 'this kernel has no TCP-AO: use Linux 6.7 or later with CONFIG_TCP_AO, or a TCP MD5 password instead';
    const recorder = new ConnectionRecorder();
    transport.dial({ ...peer, tcpAo: ao(key(1, 2, 'hush')) }, recorder);
    await until('it is closed', () => recorder.isClosed);
    expect(recorder.failure).toEqual({ kind: 'unsupported', detail: why });
    const listener = listen(transport);
    expect(listener.setKeys([{ prefix: range, tcpAo: ao(key(1, 2, 'hush')) }])).toEqual(new Map([[0, why]]));
    listener.close();
  });

  it('refuses keys that cannot work, without their secrets', () => {
    const { transport } = withKernel(() => 0);
    const long = 'hush'.repeat(21);
    expect(transport.cannot({ ...peer, tcpAo: ao() })).toBe('TCP-AO needs at least one key');
    expect(transport.cannot({ ...peer, tcpAo: ao(key(1, 2, long)) })).toBe('a secret of TCP-AO has from 1 to 80 octets');
    expect(transport.cannot({ ...peer, tcpAo: ao(key(1, 2, 'hush')), password: 'hush' })).toContain('not both');
    const listener = listen(transport);
    const refused = listener.setKeys([
      { prefix: range, tcpAo: ao(key(1, 2, 'hush')), interface: 'eth0' },
      { prefix: range, tcpAo: ao(key(1, 2, 'hush')), interface: 'eth1' },
      { prefix: range, password: 'hush', interface: 'eth2' },
    ]);
    expect([...refused]).toEqual([[2, expect.stringContaining('198.51.100.0/24 has other TCP-AO keys')]]);
    expect([...refused.values()].join()).not.toContain('hush');
    listener.close();
  });
});

describe.runIf(process.platform === 'linux')('the TCP-AO keys of an open connection', () => {
  const [old, fresh, third] = [key(1, 11, 'hush-old'), key(2, 12, 'hush-new'), key(3, 13, 'hush-third')];

  /** Opens a connection over loopback with keys at both ends. The kernel refuses to delete the keys that are `inUse`. */
  async function open(tcpAo: readonly TcpAoKey[], inUse: readonly string[] = [], answer: (option: string) => number = () => 0) {
    const { transport, options } = withKernel((option) => (inUse.some((ids) => option === `delete ${ids}`) ? EBUSY : answer(option)));
    const events = new ListenerRecorder();
    const listener = transport.listen({ address: loopback[4], port: 0 }, events);
    if (tcpAo.length > 0) listener.setKeys([{ prefix: prefix('127.0.0.0/8'), tcpAo: ao(...tcpAo) }]);
    await until('it listens', () => events.port !== undefined);
    const recorder = new ConnectionRecorder();
    const dialed = transport.dial({ ...peer, port: events.port ?? 0, ...(tcpAo.length === 0 ? {} : { tcpAo: ao(...tcpAo) }) }, recorder);
    await until('both ends are open', () => recorder.isConnected && events.accepted[0]?.recorder.isConnected === true);
    const accepted = events.accepted[0]?.connection;
    if (accepted === undefined) throw new Error('nothing was accepted');
    const replace = (connection: Connection, ...keys: readonly TcpAoKey[]) => {
      options.length = 0;
      return { problem: connection.replaceKeys?.(ao(...keys)), options: [...options] };
    };
    const close = (): void => {
      for (const end of [dialed, accepted]) end.destroy();
      listener.close();
    };
    return { dialed, accepted, replace, close };
  }

  it.each(['dialed', 'accepted'] as const)(
    'BGP-132 of a %s one: a key is added, used and removed, without an end of the connection',
    async (end) => {
      const bed = await open([old]);
      const set = (...keys: readonly TcpAoKey[]) => bed.replace(bed[end], ...keys);
      expect(set(old, fresh)).toEqual({ problem: undefined, options: ['add 2/12', 'ask for 11'] });
      expect(set(fresh, old)).toEqual({ problem: undefined, options: ['ask for 12'] });
      expect(set(fresh)).toEqual({ problem: undefined, options: ['ask for 12', 'delete 1/11'] });
      expect(set(fresh)).toEqual({ problem: undefined, options: ['ask for 12'] });
      bed.close();
    },
  );

  it('BGP-132 go on with a key that both ends have when the one in use goes', async () => {
    const bed = await open([old, third], ['1/11']);
    expect(bed.replace(bed.dialed, fresh, third)).toEqual({
      problem: undefined,
      options: ['add 2/12', 'ask for 12', 'delete 1/11', 'delete 1/11, go on with 3, ask for 12'],
    });
    bed.close();
  });

  it('BGP-132 change at once when all are replaced', async () => {
    const bed = await open([old], ['1/11']);
    expect(bed.replace(bed.accepted, fresh).options).toEqual([
      'add 2/12',
      'ask for 12',
      'delete 1/11',
      'delete 1/11, go on with 2, ask for 12',
    ]);
    bed.close();
  });

  it('BGP-132 get another secret under an ID while another key stays, and not without one', async () => {
    const bed = await open([old, third], ['1/11']);
    const changed = key(1, 11, 'hush-other');
    expect(bed.replace(bed.dialed, changed, third)).toEqual({
      problem: undefined,
      options: ['delete 1/11', 'delete 1/11, go on with 3, ask for 13', 'add 1/11', 'ask for 11'],
    });
    expect(bed.replace(bed.dialed, key(1, 11, 'hush-third'), key(3, 13, 'hush'))).toEqual({
      problem: 'each key changes under an ID that it has in the connection',
      options: [],
    });
    bed.close();
  });

  it.each<[string, readonly TcpAoKey[], string, number, string]>([
    ['the kernel has no room', [old, fresh], 'add 2/12', ENOMEM, 'raise net.core.optmem_max'],
    ['the kernel refuses the request', [fresh, old], 'ask for 12', ENOMEM, 'optmem_max'],
    ['there is no key', [], '', 0, 'TCP-AO needs at least one key'],
    ['a secret is too long', [key(2, 12, 'hush'.repeat(21))], '', 0, 'from 1 to 80 octets'],
  ])('BGP-132 stay or the reason is told when %s, without a secret', async (_, keys, refused, errno, words) => {
    const bed = await open([old], [], (option) => (option === refused ? errno : 0));
    const { problem } = bed.replace(bed.dialed, ...keys);
    expect(problem).toContain(words);
    expect(problem).not.toContain('hush');
    bed.close();
  });

  it('are not changed on a connection without keys, or one that is closed', async () => {
    const bed = await open([]);
    expect(bed.replace(bed.dialed, fresh)).toEqual({ problem: 'the connection has no TCP-AO keys', options: [] });
    bed.close();
    await until('it is closed', () => bed.dialed.replaceKeys?.(ao(fresh)) === 'the connection is not open');
  });
});

it('BGP-127 refuses TCP-AO with plain Node sockets', () => {
  expect(nodeTransport.cannot({ ...peer, tcpAo: ao(key(1, 2, 'hush')) })).toBe(
    'TCP-AO needs Linux and the native module koffi, which could not be loaded',
  );
  const listener = nodeTransport.listen({ address: loopback[4], port: 0 }, new ListenerRecorder());
  expect(listener.setKeys([{ prefix: hostPrefix(loopback[4]), tcpAo: ao(key(1, 2, 'hush')) }]).get(0)).toContain('TCP-AO needs Linux');
  listener.close();
});
