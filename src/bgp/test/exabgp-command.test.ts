import { describe, expect, test } from 'vitest';
import { parseCommand } from '../../../examples/bgp/exabgp-command.ts';

describe('a line of the text API of ExaBGP in examples/bgp', () => {
  test.each([
    ['announce route 192.0.2.1/32 next-hop self', { prefix: '192.0.2.1/32', communities: [] }],
    ['announce route 2001:db8::1/128 next-hop self med 100', { prefix: '2001:db8::1/128', communities: [], med: 100 }],
    [
      'announce route 192.0.2.1/32 next-hop self local-preference 200 community [ 64512:1 no-export ] large-community [64512:1:2]',
      { prefix: '192.0.2.1/32', communities: ['64512:1', 'no-export', '64512:1:2'], localPref: 200 },
    ],
    [
      'announce route 192.0.2.1/32 next-hop 10.0.0.9 path-information 7',
      { prefix: '192.0.2.1/32', nextHop: '10.0.0.9', pathId: 7, communities: [] },
    ],
    ['announce route 192.0.2.1/32 path-information 1.2.3.4', { prefix: '192.0.2.1/32', pathId: 0x0102_0304, communities: [] }],
    ['announce route 192.0.2.1/32 community 64512:1', { prefix: '192.0.2.1/32', communities: ['64512:1'] }],
  ])('%s is an announcement', (line, announce) => {
    expect(parseCommand(line)).toEqual({ announce });
  });

  test('a withdrawal needs the prefix only, and the path identifier if there is one', () => {
    expect(parseCommand('withdraw route 192.0.2.1/32 next-hop self')).toEqual({ withdraw: '192.0.2.1/32' });
    const withPath = 'withdraw route 192.0.2.1/32 as-path [ 64512 ] path-information 0.0.1.0';
    expect(parseCommand(withPath)).toEqual({ withdraw: { prefix: '192.0.2.1/32', pathId: 256 } });
  });

  test.each([
    ['announce route 192.0.2.1/32 next-hop self as-path [ 64512 64513 ]', '"as-path 64512 64513" is not supported'],
    ['announce route 192.0.2.1/32 community [ 64512:1', 'no closing bracket'],
    ['announce flow route', '"announce flow" is not supported'],
    ['neighbor 10.0.0.1 announce route 192.0.2.1/32', '"neighbor 10.0.0.1" is not supported'],
    ['shutdown', '"shutdown" is not supported'],
  ])('%s is refused', (line, problem) => {
    expect(() => parseCommand(line)).toThrow(problem);
  });
});
