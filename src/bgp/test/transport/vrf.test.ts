import { describe, expect, it } from 'vitest';
import { Speaker } from '../../../../src/bgp/index.ts';
import { linuxTransport } from '../../../../src/bgp/transport/linux.ts';
import { MemoryNetwork } from '../../../../src/bgp/transport/memory-network.ts';
import { nodeTransport } from '../../../../src/bgp/transport/node.ts';
import type { Transport } from '../../../../src/bgp/transport/transport.ts';
import { hostPrefix } from '../../../../src/net/prefix.ts';
import { loadLibc } from '../../../../src/system/ffi/libc.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { hasIpv6, loopback, until } from './loopback.ts';
import { ConnectionRecorder, ListenerRecorder } from './recorder.ts';
import { recordingLibc, type SocketCall } from './recording-libc.ts';

const real = loadLibc();
const peer = { address: loopback[4], port: 179, ttl: 255 };
const fix = 'create it with "ip link add red type vrf table NUMBER", on a kernel with CONFIG_NET_VRF';

/** A transport whose kernel seems to have the VRF "red", and the calls on each socket. */
function withRed(): { readonly transport: Transport; readonly ofSockets: () => string[][] } {
  if (real === undefined) throw new Error('the native module koffi could not be loaded');
  const { libc, calls } = recordingLibc(real, ({ call, value }) => (call === 'device' && value?.toString() === 'red\0' ? 0 : undefined));
  const nameOf = ({ call, value }: SocketCall): string =>
    call === 'device' ? `device ${value?.toString('utf8').replace('\0', '')}` : call;
  const ofSockets = (): string[][] => [...Map.groupBy(calls, ({ fd }) => fd).values()].map((each) => each.map(nameOf));
  return { transport: linuxTransport({ libc }), ofSockets };
}

async function listenIn(transport: Transport, vrf: string | undefined, anywhere = false): Promise<ListenerRecorder & { close(): void }> {
  const listening = new ListenerRecorder();
  const listener = transport.listen(
    { port: 0, ...(anywhere ? {} : { address: loopback[4] }), ...(vrf === undefined ? {} : { vrf }) },
    listening,
  );
  await until('it listens or fails', () => (listening.port ?? listening.failure) !== undefined);
  return Object.assign(listening, { close: () => listener.close() });
}

describe.runIf(process.platform === 'linux')('a VRF on Linux', () => {
  it('BGP-124 binds a dialed socket to the VRF before it gets an address', async () => {
    const plain = linuxTransport();
    const listening = await listenIn(plain, undefined);
    const { transport, ofSockets } = withRed();
    const recorder = new ConnectionRecorder();
    const options = { ...peer, port: listening.port ?? 0, vrf: 'red', sourceAddress: loopback[4], password: 'hush' };
    expect(transport.cannot(options)).toBeUndefined();
    const connection = transport.dial(options, recorder);
    expect(ofSockets()).toHaveLength(1);
    const [calls = []] = ofSockets();
    expect(calls[0]).toBe('device red');
    expect(calls.indexOf('bind')).toBeGreaterThan(0);
    connection.destroy();
    const unsigned = new ConnectionRecorder();
    const { password: _, ...rest } = options;
    const open = transport.dial(rest, unsigned);
    await until('it is connected', () => unsigned.isConnected);
    open.destroy();
    await until('both are closed', () => recorder.isClosed && unsigned.isClosed);
    listening.close();
  });

  it('BGP-124 binds listening sockets to the VRF before the address, and reports it with each connection', async () => {
    const { transport, ofSockets } = withRed();
    const red = await listenIn(transport, 'red', true);
    expect(ofSockets()).toHaveLength(hasIpv6 ? 2 : 1);
    for (const calls of ofSockets()) expect(calls.filter((call) => /^(device|bind)/.test(call))).toEqual(['device red', 'bind']);
    const plain = await listenIn(transport, undefined);
    const dials = [red, plain].map(({ port = 0 }) => {
      const recorder = new ConnectionRecorder();
      return { recorder, connection: transport.dial({ ...peer, port }, recorder) };
    });
    await until('both are accepted', () => red.accepted.length + plain.accepted.length === 2);
    expect(red.accepted.map(({ incoming }) => incoming.vrf)).toEqual(['red']);
    expect(plain.accepted.map(({ incoming }) => 'vrf' in incoming)).toEqual([false]);
    for (const { connection } of dials) connection.destroy();
    await until('both are closed', () => dials.every(({ recorder }) => recorder.isClosed));
    for (const listening of [red, plain]) listening.close();
  });

  it('BGP-124 fails when the VRF does not exist, and says how to create it', async () => {
    const transport = linuxTransport();
    const recorder = new ConnectionRecorder();
    transport.dial({ ...peer, vrf: 'red' }, recorder);
    await until('it fails', () => recorder.isClosed);
    expect(recorder.failure?.detail).toBe(`there is no VRF red on this host: ${fix}`);
    const listening = await listenIn(transport, 'red');
    expect(listening.failure?.detail).toBe(`there is no VRF red on this host: ${fix}`);
  });

  it('BGP-124 has no session when the VRF does not exist, and the status names the VRF', async () => {
    await using speaker = new Speaker({ asn: 64_512, routerId: '10.0.0.1', transport: linuxTransport() });
    const tor = speaker.addPeer({ address: '127.0.0.1', peerAsn: 65_001, vrf: 'red' });
    await until('it has failed', () => tor.status().lastError !== undefined);
    expect(tor.status()).toMatchObject({ vrf: 'red', outage: { evidence: { kind: 'noVrf' } } });
    expect(tor.status().lastError).toBe(`there is no VRF red on this host: ${fix}`);
  });

  it('refuses an interface besides the VRF', () => {
    expect(linuxTransport().cannot({ ...peer, vrf: 'red', interface: 'eth0' })).toContain('leave out the VRF red');
  });
});

describe('a VRF on other transports', () => {
  const clock = new VirtualClock();
  const inMemory = new MemoryNetwork(clock).host([loopback[4]]);

  it.each([
    ['plain Node sockets', nodeTransport, 'VRF needs Linux'],
    ['the network in memory', inMemory, 'no VRFs'],
  ])('BGP-124 is refused by %s, with a reason', (_, transport, words) => {
    expect(transport.cannot({ ...peer, vrf: 'red' })).toContain(words);
    expect(transport.cannot(peer)).toBeUndefined();
  });

  it('BGP-124 makes listening fail on plain Node sockets', async () => {
    const listening = await listenIn(nodeTransport, 'red');
    expect(listening.failure).toMatchObject({ kind: 'unsupported', detail: expect.stringContaining('the VRF red needs Linux') });
  });

  it('BGP-124 makes listening fail in memory', () => {
    const listening = new ListenerRecorder();
    const listener = inMemory.listen({ port: 179, vrf: 'red' }, listening);
    expect(listener.setKeys([{ prefix: hostPrefix(loopback[4]), password: 'hush' }]).size).toBe(0);
    clock.advance(0);
    expect(listening.failure).toEqual({ kind: 'unsupported', detail: 'the network in memory has no VRFs' });
  });
});
