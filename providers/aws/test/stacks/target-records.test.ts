import { describe, expect, test } from 'vitest';
import { targetsAnnotation, type ServiceMetadata } from '../../../../providers/aws/model/service-metadata.ts';
import { TargetRecords } from '../../../../providers/aws/stacks/targets/target-records.ts';
import { metadata } from '../../../../test/unit/decisions/fixtures.ts';

const web = { metadata: metadata('web', 'default') };
const record = new Map([['default/web:80/TCP', new Set(['192.0.2.1 8080'])]]);

/** The records, and the values of the annotation that they write. `accepts`: the API server takes a write. */
function recordsOf(accepts = true): { readonly records: TargetRecords; readonly written: (string | undefined)[] } {
  const written: (string | undefined)[] = [];
  const annotate: ServiceMetadata['annotate'] = (_, { [targetsAnnotation]: value }) => {
    written.push(value);
    return Promise.resolve(accepts);
  };
  const ignore = (): Promise<void> => Promise.resolve();
  return { records: new TargetRecords({ addFinalizer: ignore, removeFinalizer: ignore, annotate }), written };
}

const withAnnotation = (value: string) => ({ metadata: { ...web.metadata, annotations: { [targetsAnnotation]: value } } });

describe('the record of registered targets', () => {
  test('is the same text in whatever order its groups and targets come', async () => {
    const { records, written } = recordsOf();
    const entries = [
      ['group-b', ['192.0.2.2 80', '192.0.2.1 80']],
      ['group-a', ['192.0.2.3 80']],
    ] as const;
    for (const order of [entries, entries.toReversed()])
      await records.write('default/web', new Map(order.map(([group, targets]) => [group, new Set(targets)])));
    const text = '{"group-a":["192.0.2.3 80"],"group-b":["192.0.2.1 80","192.0.2.2 80"]}';
    expect(written).toEqual([text, text]);
  });

  test('Herald removes its record from the Service when the Service has no target group any more', async () => {
    const { records, written } = recordsOf();
    await records.write('default/web', new Map());
    expect(written).toEqual([undefined]);
  });

  test('Herald knows its record before the API server shows it, and forgets it with the Service', async () => {
    const { records } = recordsOf();
    expect(await records.write('default/web', record)).toBe(true);
    expect(records.of(web)).toEqual(record);
    records.forgetService('default/web');
    expect(records.of(web)).toEqual(new Map());
  });

  test('Herald keeps the former record when the API server refuses the write', async () => {
    const { records } = recordsOf(false);
    expect(await records.write('default/web', record)).toBe(false);
    expect(records.of(web)).toEqual(new Map());
  });

  test.each(['', '{', 'null', '"text"', '7', '{"default/web:80/TCP":"192.0.2.1 8080"}'])(
    'Herald reads an empty record where the annotation is %j',
    (value) => {
      expect(recordsOf().records.of(withAnnotation(value))).toEqual(new Map());
    },
  );

  test('Herald reads the texts of a list and nothing else', () => {
    const value = '{"default/web:80/TCP":["192.0.2.1 8080",7,null]}';
    expect(recordsOf().records.of(withAnnotation(value))).toEqual(record);
  });
});
