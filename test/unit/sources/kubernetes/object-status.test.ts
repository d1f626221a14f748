import { expect, test } from 'vitest';
import { rawObject } from '../../../../src/kube/raw-object.ts';
import { objectPatch, recordedConditions } from '../../../../src/sources/kubernetes/records/status-writer.ts';

const now = new Date('2026-01-02T00:00:00Z');
const metadata = { name: 'main', uid: 'u', resourceVersion: '7' };
const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '', observedGeneration: 2 } as const;
const fields = { availableIPv6: 2n ** 63n - 1n, conflicts: ['b'], usage: '0/2^64' };
const written = { ...accepted, lastTransitionTime: '2026-01-01T00:00:00Z' };

test("an unchanged status is not written, even with numbers beyond JSON's precision", () => {
  const status = JSON.parse('{"availableIPv6":9223372036854775807,"usage":"0/2^64","conflicts":["b"]}') as object;
  const pool = rawObject({ metadata, status: { ...status, conditions: [written] } });
  expect(objectPatch(pool, { conditions: [accepted], fields }, now)).toBeUndefined();
});

test('a changed status is written whole, for the object that was read, and keeps unchanged times', () => {
  const pool = rawObject({ metadata, status: { conditions: [written], usage: '1/2^64' } });
  expect(objectPatch(pool, { conditions: [{ ...accepted, observedGeneration: 3 }], fields }, now)).toEqual({
    metadata: { uid: 'u', resourceVersion: '7' },
    status: { ...fields, conditions: [{ ...written, observedGeneration: 3 }] },
  });
  const refused = { ...accepted, status: 'False', reason: 'PoolOverlaps' } as const;
  expect(objectPatch(pool, { conditions: [refused], fields: {} }, now)).toMatchObject({
    status: { conditions: [{ status: 'False', lastTransitionTime: '2026-01-02T00:00:00Z' }] },
  });
});

test('recordedConditions returns the conditions that can be parsed', () => {
  const pool = rawObject({ metadata, status: { conditions: [written, { type: 'Odd' }, 'nonsense'] } });
  expect(recordedConditions(pool)).toEqual([{ type: 'Accepted', status: 'True', reason: 'Accepted', message: '' }]);
  expect(recordedConditions(rawObject({ metadata }))).toEqual([]);
});
