import { describe, expect, test } from 'vitest';
import { address, type Family } from '../../../src/net/address.ts';
import type { Protocol } from '../../../src/net/frontend.ts';
import { backendName, interfaceOf, placeAddress, play } from '../../vectors/scenario.ts';
import { scenarios } from '../../vectors/scenarios.ts';
import { fateText, trace } from '../../vectors/tracer.ts';

const families: readonly Family[] = [4, 6];
const protocols: readonly Protocol[] = ['TCP', 'UDP', 'SCTP'];
const cells = families.flatMap((family) => protocols.map((protocol) => ({ family, protocol })));

describe.each(cells)('forwarding by the planner, IPv$family $protocol', ({ family, protocol }) => {
  test.each(scenarios)('$name', (scenario) => {
    const played = play(scenario, family, protocol);
    const fates = played.packets.map(({ text, from, to, port, protocol }) => {
      const [source, destination] = [from, to].map((place) => address(placeAddress(place, family)));
      if (source === undefined || destination === undefined) throw new RangeError(text);
      return [text, fateText(trace(played, { source, interface: interfaceOf(from), protocol, destination, port }), backendName)];
    });
    expect(fates).toEqual(played.packets.map(({ text, fate }) => [text, fate]));
  });
});

test('scenario names are unique', () => {
  expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length);
});
