import { InvalidArgumentError } from 'commander';
import { expect, test } from 'vitest';
import { bgpListenOption } from '../../../src/cli/options.ts';
import { address } from '../../../src/net/address.ts';

const read = (text: string): unknown => bgpListenOption().parseArg?.(text, undefined);

test.each([
  ['none', []],
  ['1179', [{ port: 1179 }]],
  ['192.0.2.1:179', [{ address: address('192.0.2.1'), port: 179 }]],
  ['[2001:db8::1]:65535', [{ address: address('2001:db8::1'), port: 65_535 }]],
])('--bgp-listen %s', (text, expected) => {
  expect(read(text)).toEqual(expected);
});

test.each(['', '0', '65536', '192.0.2.1', '192.0.2.1:', '192.0.2.300:179', '2001:db8::1:179', '[]:179', ':179', 'any:179', '179x'])(
  '--bgp-listen %j is refused',
  (text) => {
    expect(() => read(text)).toThrow(InvalidArgumentError);
  },
);
