import { expect, test } from 'vitest';
import { frontendOfKey } from '../../../../src/dataplane/kube-proxy/nftables-maps.ts';
import { SeenFrontends } from '../../../../src/dataplane/kube-proxy/seen-frontends.ts';
import { address, addressBytes } from '../../../../src/net/address.ts';

test('a frontend is present when it is mapped and has an endpoint, and changes are net changes', () => {
  const seen = new SeenFrontends();
  seen.addFrontend('mapped', 'a');
  seen.addFrontend('without', 'b');
  expect([...seen.takeChanges()]).toEqual(['a']);
  seen.addFrontend('mapped', 'b');
  expect([seen.has('a'), seen.has('b'), ...seen.takeChanges()]).toEqual([true, false]);
  seen.removeFrontend('without', 'b');
  // kube-proxy replaces an element in this way.
  seen.removeFrontend('mapped', 'a');
  seen.addFrontend('mapped', 'a');
  expect([...seen.takeChanges()]).toEqual(['b']);
  seen.replaceFrontends({ mapped: new Set(['b', 'c']), without: new Set(['c']) });
  expect([...seen.takeChanges()]).toEqual(['a']);
});

test.each([
  ['192.0.2.1', 6, 80, '192.0.2.1 TCP 80'],
  ['2001:db8::1', 17, 53, '2001:db8::1 UDP 53'],
  ['192.0.2.1', 132, 65_535, '192.0.2.1 SCTP 65535'],
  ['192.0.2.1', 1, 80, undefined],
])("an element's key names a frontend: %s, protocol %i, port %i", (text, protocol, port, expected) => {
  const at = address(text);
  const rest = [protocol, 0, 0, 0, port >> 8, port & 0xff, 0, 0];
  expect(frontendOfKey(at.family, Uint8Array.of(...addressBytes(at), ...rest))).toBe(expected);
  const onNode = expected?.replace(text, `NodePort IPv${at.family}`);
  expect(frontendOfKey(at.family, Uint8Array.of(...rest))).toBe(onNode);
});

test('a key of another length names no frontend', () => {
  expect(frontendOfKey(4, new Uint8Array(20))).toBeUndefined();
  expect(frontendOfKey(6, new Uint8Array(12))).toBeUndefined();
});
