import { withoutPoolRecord } from '../../../src/model/objects/pool-record.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fabric } from '../../lab/diagnosis/fabric.ts';
import { allCases, manifestsBefore } from '../../lab/diagnosis/all-cases.ts';
import { explainService } from '../../../src/explain/service/service.ts';
import { Cluster } from './cluster.ts';

/** The cases whose mistake is in a manifest, and whose reason does not come from a router or a host. */
const cases = allCases.filter(({ one }) => one.after !== undefined && one.prepare === undefined && one.act === undefined);

describe('mistakes in manifests', () => {
  const cluster = new Cluster();

  beforeAll(async () => {
    cluster.write('fabric', fabric());
    for (const placed of cases) cluster.write(placed.one.name, manifestsBefore(placed));
    await cluster.start();
    for (const { one, place } of cases) cluster.write(one.name, one.after?.(place) ?? []);
    await cluster.advance(60_000);
  });

  afterAll(() => cluster.stop());

  test.each(cases)('$one.mistake Explain and the condition name $one.code in the same sentence', ({ one }) => {
    const explanation = explainService(cluster.snapshot, `${one.name}/web`, cluster.now);
    expect(explanation?.verdict).toMatchObject({ line: one.verdict, code: one.code });
    if (one.condition === undefined) return;
    const condition = cluster.condition(`${one.name}/web`, one.condition);
    expect({ ...condition, message: withoutPoolRecord(condition?.message ?? '') }).toMatchObject({
      status: 'False',
      reason: one.code,
      message: one.verdict,
    });
  });
});
