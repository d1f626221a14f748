import { expect, test } from 'vitest';
import { ElementList } from '../../../../src/dataplane/ruleset/element-list.ts';
import { addFrontendElements, frontendElements } from '../../../../src/dataplane/ruleset/elements.ts';
import { address } from '../../../../src/net/address.ts';
import type { Backend, Frontend } from '../../../../src/net/frontend.ts';

const backend = (index: number, family: 4 | 6): Backend => ({
  address: address(family === 4 ? `10.0.${index >> 8}.${index & 255}` : `fd00::${(index + 1).toString(16)}`),
  port: 8080,
  local: index === 0,
});

test.each([
  [4, 1],
  [4, 7],
  [4, 70],
  [6, 300],
] as const)('a list packs the slots of a frontend as if each had come alone: IPv%i, %i backends', (family, count) => {
  const backends = Array.from({ length: count }, (_, index) => backend(index, family));
  const frontend: Frontend = {
    match: { kind: 'address', address: address(family === 4 ? '172.16.0.1' : 'fd01::1'), protocol: 'TCP', port: 80 },
    scope: 'internal',
    policy: 'Local',
    backends,
    localBackends: backends.slice(0, 1),
  };
  const elements = frontendElements(frontend);
  const packed = new ElementList();
  addFrontendElements(frontend, packed);
  expect([...packed]).toEqual([...ElementList.of(elements)]);
  expect(packed.size).toBe(elements.length);
});

test('a list refuses slots whose values have another length than those of the set', () => {
  expect(() => new ElementList().pushSlots(4, 'backends', '\0'.repeat(12), ['short'])).toThrow('backends');
});
