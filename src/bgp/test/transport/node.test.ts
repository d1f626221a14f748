import { describe, expect, test } from 'vitest';
import { address } from '../../../../src/net/address.ts';
import { hostPrefix } from '../../../../src/net/prefix.ts';
import { nodeTransport } from '../../../../src/bgp/transport/node.ts';
import { describeTransport } from './compliance.ts';
import { hasIpv6, loopback, onLoopback, until } from './loopback.ts';
import { ConnectionRecorder, ListenerRecorder } from './recorder.ts';

describe('plain Node sockets over IPv4', () => {
  describeTransport(onLoopback(nodeTransport, 4));
});
describe.runIf(hasIpv6)('plain Node sockets over IPv6', () => {
  describeTransport(onLoopback(nodeTransport, 6));
});

describe('plain Node sockets', () => {
  const peer = { address: loopback[4], port: 179, ttl: 255 };

  test.each([
    [{ ...peer, password: 'hush' }, 'a TCP MD5 password needs'],
    [{ ...peer, minimumTtl: 255 }, 'TTL security needs'],
    [{ ...peer, interface: 'eth0' }, 'binding a connection to a network interface needs'],
    [{ ...peer, address: address('fe80::1') }, 'a link-local address needs the network interface'],
    [{ ...peer, address: address('fe80::1'), interface: 'br_lan' }, 'the name of the network interface br_lan has a character'],
  ])('a dial with an unsupported option fails and names it: %#', async (options, words) => {
    expect(nodeTransport.cannot(options)).toContain(words);
    expect(nodeTransport.cannot(options)).not.toContain('hush');
    const recorder = new ConnectionRecorder();
    nodeTransport.dial(options, recorder);
    await until('it fails', () => recorder.isClosed);
    expect(recorder.events).toEqual(['closed: unsupported']);
  });

  test('userTimeout, a source address and link-local addresses with an interface are supported', () => {
    expect(nodeTransport.cannot({ ...peer, userTimeout: 90_000, sourceAddress: loopback[4] })).toBeUndefined();
    expect(nodeTransport.cannot({ ...peer, address: address('fe80::1'), interface: 'eth0.100' })).toBeUndefined();
  });

  test('connections that need TTL security are closed, and keys are refused', async () => {
    const listening = new ListenerRecorder();
    listening.socketOptions = { ttl: 255, minimumTtl: 255 };
    const listener = nodeTransport.listen({ address: loopback[4], port: 0 }, listening);
    await until('it listens', () => listening.port !== undefined);
    const recorder = new ConnectionRecorder();
    const connection = nodeTransport.dial({ ...peer, port: listening.port ?? 0 }, recorder);
    await until('both ends are closed', () => recorder.isClosed && listening.accepted[0]?.recorder.isClosed === true);
    expect(listening.accepted[0]?.recorder.failure?.kind).toBe('unsupported');
    const refused = listener.setKeys([{ prefix: hostPrefix(loopback[4]), password: 'hush' }]);
    expect(refused.get(0)).toContain('a TCP MD5 password needs');
    expect(refused.get(0)).not.toContain('hush');
    connection.destroy();
    listener.close();
  });
});
