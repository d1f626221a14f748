import { readdirSync, readlinkSync } from 'node:fs';
import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { linuxTransport } from '../../../../src/bgp/transport/linux.ts';
import { parseKernelDrops } from '../../../../src/bgp/transport/linux/kernel-drops.ts';
import { address } from '../../../../src/net/address.ts';
import { hostPrefix, prefix } from '../../../../src/net/prefix.ts';
import { describeTransport } from './compliance.ts';
import { hasIpv6, loopback, onLoopback, until } from './loopback.ts';
import { ConnectionRecorder, ListenerRecorder } from './recorder.ts';

const transport = linuxTransport();

describe('Linux sockets over IPv4', () => {
  describeTransport(onLoopback(transport, 4));
});
describe.runIf(hasIpv6)('Linux sockets over IPv6', () => {
  describeTransport(onLoopback(transport, 6));
});

describe.runIf(process.platform === 'linux')('Linux sockets', () => {
  const peer = { address: loopback[4], port: 179, ttl: 255 };

  const listen = async (options: { address?: typeof peer.address } = {}) => {
    const listening = new ListenerRecorder();
    const listener = transport.listen({ ...options, port: 0 }, listening);
    await until('it listens or fails', () => (listening.port ?? listening.failure) !== undefined);
    return { listening, listener, port: listening.port ?? 0 };
  };
  const dial = (options: Parameters<typeof transport.dial>[0]) => {
    const recorder = new ConnectionRecorder();
    return { recorder, connection: transport.dial(options, recorder) };
  };

  test.runIf(hasIpv6)('a listener without an address accepts both families on one port', async () => {
    const { listening, listener, port } = await listen();
    const both = [loopback[4], loopback[6]].map((address) => dial({ ...peer, address, port }));
    await until('both are accepted', () => listening.accepted.length === 2);
    const remotes = listening.accepted.map(({ incoming }) => incoming.remoteAddress);
    expect(remotes.toSorted((a, b) => a.family - b.family)).toEqual([loopback[4], loopback[6]]);
    for (const { connection } of both) connection.destroy();
    listener.close();
  });

  test('unusable passwords and addresses are refused with a message that hides the password', async () => {
    const long = 'x'.repeat(81);
    expect(transport.cannot({ ...peer, password: long })).toBe('the TCP MD5 password is longer than Linux takes');
    expect(transport.cannot({ ...peer, password: '' })).toBe('the TCP MD5 password is empty');
    expect(transport.cannot({ ...peer, address: address('fe80::1') })).toContain('needs the network interface');
    const { listener } = await listen({ address: loopback[4] });
    const refused = listener.setKeys([
      { prefix: hostPrefix(loopback[4]), password: long },
      { prefix: prefix('192.0.2.0/24'), password: '' },
      { prefix: prefix('198.51.100.0/24'), password: 'right', interface: 'eth0' },
      { prefix: prefix('198.51.100.0/24'), password: 'other', interface: 'eth1' },
    ]);
    expect([...refused.keys()]).toEqual([0, 1, 3]);
    expect(refused.get(3)).toContain('198.51.100.0/24 has another TCP MD5 password');
    expect([...refused.values()].join()).not.toMatch(/xxx|right'|"right|other'/);
    listener.close();
  });

  test('a missing interface and a foreign address are named in the failure', async () => {
    const nowhere = dial({ ...peer, interface: 'no-such-one' });
    const foreign = dial({ ...peer, sourceAddress: address('192.0.2.254') });
    await until('both have failed', () => nowhere.recorder.isClosed && foreign.recorder.isClosed);
    expect(nowhere.recorder.failure?.detail).toBe('there is no network interface no-such-one');
    expect(foreign.recorder.failure?.detail).toBe('the source address is not configured on this host');
    const { listening } = await listen({ address: address('192.0.2.254') });
    expect(listening.failure?.detail).toBe('cannot listen on 192.0.2.254: the address is not configured on this host');
    const linkLocal = await listen({ address: address('fe80::1') });
    expect(linkLocal.listening.failure?.detail).toContain('leave the address out');
  });

  test('keys set right after listen apply to the first connection, and removed keys no longer apply', async () => {
    const listening = new ListenerRecorder();
    const listener = transport.listen({ address: loopback[4], port: 0 }, listening);
    expect(listener.setKeys([{ prefix: prefix('127.0.0.0/8'), password: 'hush' }])).toEqual(new Map());
    await until('it listens', () => listening.port !== undefined);
    const port = listening.port ?? 0;
    const unsigned = dial({ ...peer, port });
    // The signed connection proves the key: if signed segments were refused as well, silence would prove nothing.
    const signed = dial({ ...peer, port, password: 'hush' });
    await until('the signed one is accepted', () => signed.recorder.isConnected);
    expect(unsigned.recorder.events).toEqual([]);
    unsigned.connection.destroy();
    expect(listener.setKeys([])).toEqual(new Map());
    const later = dial({ ...peer, port });
    await until('an unsigned one is accepted', () => later.recorder.isConnected);
    signed.connection.write(Buffer.from('still signed'));
    await until('the signed one lives on', () => listening.accepted[0]?.recorder.received.toString() === 'still signed');
    for (const { connection } of [signed, later]) connection.destroy();
    listener.close();
  });

  test('BGP-049 data written just before the end reaches a slow reader although unread data arrives', async () => {
    const { listening, listener, port } = await listen({ address: loopback[4] });
    const slow = createConnection({ host: '127.0.0.1', port });
    slow.on('error', () => {});
    const parts: Buffer[] = [];
    let ended = false;
    slow.on('data', (chunk: Buffer) => parts.push(chunk));
    slow.on('end', () => (ended = true));
    slow.pause();
    await until('it is accepted', () => listening.accepted[0]?.recorder.isConnected === true);
    const [accepted] = listening.accepted;
    // Writes more than the kernel takes, so that the last words wait in Node, and sends data to us that is in flight when we close.
    let written = 0;
    for (let room = true; room; written += 65_536) room = accepted?.connection.write(new Uint8Array(65_536)) ?? false;
    slow.write(Buffer.alloc(300_000));
    accepted?.connection.write(Buffer.from('last words'));
    accepted?.connection.end();
    accepted?.connection.destroy();
    await until('it is reported as closed', () => accepted?.recorder.isClosed === true);
    slow.write(Buffer.alloc(300_000));
    await sleep(300);
    slow.resume();
    await until('the end has arrived', () => ended);
    expect(Buffer.concat(parts)).toHaveLength(written + 'last words'.length);
    expect(Buffer.concat(parts).subarray(-10).toString()).toBe('last words');
    expect(accepted?.recorder.events.filter((event) => event.startsWith('closed'))).toEqual(['closed']);
    slow.destroy();
    listener.close();
  });

  test('BGP-055 a thousand connections in each direction leave no descriptor behind', async () => {
    const { listening, listener, port } = await listen();
    const before = descriptors();
    for (let round = 0; round < 100; round++) {
      listening.socketOptions = round % 2 === 0 ? { ttl: 255, minimumTtl: 1 } : undefined;
      const dials = Array.from({ length: 10 }, () => dial({ ...peer, port, userTimeout: 5_000 }));
      const early = dials.slice(0, 3);
      for (const { connection } of early) connection.destroy();
      const refused = [dial({ ...peer, port: 1 }), dial({ ...peer, port, sourceAddress: address('192.0.2.254') })];
      await until('each is connected or closed', () => [...dials, ...refused].every(({ recorder }) => recorder.events.length > 0));
      for (const { connection } of [...dials, ...refused]) connection.destroy();
      for (const { connection } of listening.accepted) connection.destroy();
      await until('all are closed', () => [...dials, ...refused].every(({ recorder }) => recorder.isClosed));
    }
    await until('the kernel has them back', () => descriptors() <= before);
    expect(listening.accepted.length).toBeGreaterThan(300);
    expect(listening.rejected.length).toBeGreaterThan(300);
    listener.close();
    for (let round = 0; round < 1_000; round++) transport.listen({ address: loopback[4], port: 0 }, new ListenerRecorder()).close();
    await until('the listeners are gone', () => descriptors() < before);
  });

  test("the kernel's drop counters can be read", () => {
    const drops = transport.kernelDrops();
    expect(Object.keys(drops ?? {}).toSorted()).toEqual(['belowMinimumTtl', 'missing', 'unexpected', 'wrong']);
  });
});

test('drop counters are found by name, and are undefined on a kernel without them', () => {
  const names = 'SyncookiesSent TCPMD5NotFound TCPMD5Unexpected TCPMD5Failure TCPMinTTLDrop Last';
  const text = `TcpExt: ${names}\nTcpExt: 1 2 3 4 5 6\nIpExt: A\nIpExt: 9\n`;
  expect(parseKernelDrops(text)).toEqual({ missing: 2, unexpected: 3, wrong: 4, belowMinimumTtl: 5 });
  expect(parseKernelDrops('TcpExt: SyncookiesSent\nTcpExt: 1\n')).toBeUndefined();
  expect(parseKernelDrops('')).toBeUndefined();
});

function descriptors(): number {
  return readdirSync('/proc/self/fd').filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;
}
