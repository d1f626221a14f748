import { expect, test } from 'vitest';
import { limits } from '../../../../src/sources/kubernetes/limits.ts';
import { OwnWrites } from '../../../../src/sources/kubernetes/records/own-writes.ts';

const at = (resourceVersion: string, uid = 'u'): { uid: string; resourceVersion: string } => ({ uid, resourceVersion });

test('a decision from before our own writes is written over them, until another program writes', () => {
  const own = new OwnWrites();
  expect(own.resourceVersionFor('n/a', at('5'))).toBe('5');
  own.recordWrite('n/a', at('5'), '6');
  own.recordWrite('n/a', at('5'), '7');
  expect(['5', '6', '7'].map((version) => own.resourceVersionFor('n/a', at(version)))).toEqual(['7', '7', '7']);
  expect(own.resourceVersionFor('n/a', at('8'))).toBe('8');
  expect(own.resourceVersionFor('n/a', at('5', 'another'))).toBe('5');
  expect(own.resourceVersionFor('n/b', at('5'))).toBe('5');
});

test('versions that the watch has passed are forgotten', () => {
  const own = new OwnWrites();
  own.recordWrite('n/a', at('5'), '6');
  own.recordWrite('n/a', at('6'), '7');
  expect(own.isLatest('n/a', at('5'))).toBe(false);
  expect(own.isLatest('n/a', at('6'))).toBe(true);
  own.recordWrite('n/a', at('9'), '10');
  expect(own.isLatest('n/a', at('6'))).toBe(false);
  expect(own.resourceVersionFor('n/a', at('9'))).toBe('10');
});

test('own writes are bounded when the watch shows nothing', () => {
  const own = new OwnWrites();
  for (let write = 0; write <= limits.ownWrites; write++) own.recordWrite('n/a', at('0'), String(write + 1));
  expect(own.isLatest('n/a', at('1'))).toBe(false);
  expect(own.isLatest('n/a', at('0'))).toBe(true);
});
