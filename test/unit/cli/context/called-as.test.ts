import { describe, expect, test } from 'vitest';
import { commandsAs } from '../../../../src/cli/context/called-as.ts';
import { herald } from '../in-process.ts';

describe('the plugin of kubectl', () => {
  const rewrite = commandsAs('kubectl herald', ['explain', 'check']);

  test.each([
    ['run herald explain service a/b', 'run kubectl herald explain service a/b'],
    ['kubectl herald explain', 'kubectl herald explain'],
    ['(herald --help lists them; herald COMMAND --help)', '(kubectl herald --help lists them; kubectl herald COMMAND --help)'],
    ['herald agent --node node1', 'herald agent --node node1'],
    ['/usr/bin/herald explain, namespace herald explains', '/usr/bin/herald explain, namespace herald explains'],
  ])('calls itself kubectl herald: %s', (text, told) => {
    expect(rewrite(text)).toBe(told);
  });

  test('changes nothing for herald itself', () => {
    expect(commandsAs('herald', ['explain'])('herald explain')).toBe('herald explain');
  });
});

describe("words as kubectl's users write them", () => {
  test('svc/NAME and service/NAME -n NAMESPACE name a Service', async () => {
    for (const words of [['svc/web', '-n', 'shop'], ['service/web', '-n', 'shop'], ['svc/shop/web'], ['service', 'shop/web']])
      expect((await herald(['explain', ...words, '-f', 'examples/fabric'])).stdout).toContain('Service shop/web');
    expect((await herald(['explain', 'ipaddresspools.herald.dev/public', '-f', 'examples/fabric'])).stdout).toContain(
      'IPAddressPool public',
    );
  });

  test('a command without what it needs a word for prints its help on standard output', async () => {
    for (const words of [[], ['explain'], ['history'], ['bgp']]) {
      const { code, stdout, stderr } = await herald(words);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('Usage: herald');
    }
    expect(await herald(['explain', 'nothing/web'])).toMatchObject({ code: 64, stdout: '' });
  });
});
