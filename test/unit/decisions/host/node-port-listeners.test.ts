import { expect, test } from 'vitest';
import { judgeListeners, judgeOwnAddresses } from '../../../../src/decisions/host/node-port-listeners.ts';
import { remedyText, reasonText } from '../../../../src/model/reasons.ts';
import { address } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';

const nodePorts = {
  owners: new Map([
    ['TCP 30080', 'shop/web'],
    ['UDP 30053', 'shop/dns'],
  ]),
  addresses: [prefix('10.0.0.0/24'), prefix('::/0'), prefix('127.0.0.0/8')],
};

test.each<[string, 'TCP' | 'UDP', string, number, boolean]>([
  ['on all addresses', 'TCP', '0.0.0.0', 30_080, true],
  ['on all addresses of both families', 'UDP', '::', 30_053, true],
  ['on a NodePort address', 'TCP', '10.0.0.7', 30_080, true],
  ['on another address', 'TCP', '10.9.0.7', 30_080, false],
  ['on a loopback address', 'TCP', '127.0.0.1', 30_080, false],
  ['on the other loopback address', 'TCP', '::1', 30_080, false],
  ['on an IPv6 NodePort address', 'TCP', 'fd00:0:0:0:0:0:0:1', 30_080, true],
  ['with the other protocol', 'UDP', '0.0.0.0', 30_080, false],
  ['on another port', 'TCP', '0.0.0.0', 8_080, false],
])('a program that listens %s (%s %s port %i): reported is %s', (_, protocol, address, port, reported) => {
  expect(judgeListeners([{ protocol, address, port }], nodePorts)).toHaveLength(reported ? 1 : 0);
});

test('several sockets of one program give one reason that names the Service', () => {
  const socket = { protocol: 'UDP', address: '0.0.0.0', port: 30_053 } as const;
  const [because, ...others] = judgeListeners([socket, socket], nodePorts);
  expect(others).toEqual([]);
  expect(because && reasonText(because)).toBe(
    'a program of the node listens on UDP port 30053 at 0.0.0.0, but packets to that port go to Service shop/dns, whose NodePort it is',
  );
  expect(because && remedyText(because)).toContain('ss -lnup "sport = :30053"');
});

const own = new Set(['10.1.0.11', 'fd01::11']);

test.each<[string, 'TCP' | 'UDP', string, number, string, boolean]>([
  ['on all addresses', 'TCP', '0.0.0.0', 6443, '10.1.0.11', true],
  ['on all addresses of both families', 'TCP', '::', 6443, '10.1.0.11', true],
  ['on all addresses, IPv6', 'TCP', '::', 6443, 'fd01::11', true],
  ['on the address', 'UDP', 'fd01:0:0:0:0:0:0:11', 53, 'fd01::11', true],
  ['on all IPv4 addresses, where the Service has IPv6', 'TCP', '0.0.0.0', 6443, 'fd01::11', false],
  ['on loopback', 'TCP', '127.0.0.1', 6443, '10.1.0.11', false],
  ['at an address of another node', 'TCP', '0.0.0.0', 6443, '10.1.0.12', false],
])('a program that listens %s (%s %s port %i) beside a Service at %s: reported is %s', (_, protocol, at, port, text, reported) => {
  const frontends = [['shop/web', [{ kind: 'address', address: address(text), protocol, port }]]] as const;
  const found = judgeOwnAddresses([{ protocol, address: at, port }], frontends, own);
  expect(found.map(({ code, details }) => [code, details])).toEqual(
    reported ? [['OwnAddressListener', { protocol, port, address: text, service: 'shop/web' }]] : [],
  );
  expect(judgeOwnAddresses([{ protocol, address: at, port: port + 1 }], frontends, own)).toEqual([]);
});
