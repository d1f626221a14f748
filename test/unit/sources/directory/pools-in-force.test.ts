import { describe, expect, test } from 'vitest';
import { effectivePools } from '../../../../src/decisions/allocation/pools/pools.ts';
import { objectConditions } from '../../../../src/controller/configuration/object-conditions.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { DirectorySource } from '../../../../src/sources/directory/directory-source.ts';
import { DirectoryStatusWriter } from '../../../../src/sources/directory/records/status-writer.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { poolYaml, Workbench } from './workbench.ts';

const families = [
  { family: 'IPv4', inUse: '192.0.2.0/28', overlapping: '192.0.2.8/29' },
  { family: 'IPv6', inUse: '2001:db8::/124', overlapping: '2001:db8::8/125' },
];
const overlap = reason('PoolOverlaps', { pool: 'other', range: 'r', other: 'public', otherRange: 'r' });
const broken = reason('ObjectUnreadable', { field: 'spec.addresses', problem: 'is broken', remedy: 'mend it', inForce: true });
const refusedOf = ({ snapshot }: DirectorySource): string[] => [...effectivePools(snapshot.pools).refused.keys()];

async function record(bench: Workbench, name: string, status: Parameters<typeof objectConditions>[0]): Promise<void> {
  const writer = new DirectoryStatusWriter(bench.path(''), { clock: systemClock });
  await writer.writeObject(
    { kind: 'IPAddressPool', name, apiVersion: '', namespace: '', uid: '', resourceVersion: '' },
    {
      conditions: objectConditions(status, undefined),
      fields: {},
    },
  );
}

async function restarted(bench: Workbench): Promise<string[]> {
  const source = new DirectorySource(bench.path(''), { clock: systemClock, log: silentLog });
  await source.start();
  await source.close();
  return refusedOf(source);
}

describe.each(families)('of two overlapping $family pools in a directory', ({ inUse, overlapping }) => {
  test('the one that sorts first wins when nothing is on record', async () => {
    await using bench = await Workbench.started({ 'a.yaml': poolYaml('aaa', overlapping), 'p.yaml': poolYaml('public', inUse) });
    expect(refusedOf(bench.source)).toEqual(['public']);
  });

  test('the one that is in force wins, also after a restart and once the other is on record as refused', async () => {
    await using bench = await Workbench.started({ 'p.yaml': poolYaml('public', inUse) });
    await record(bench, 'public', { fields: {} });
    await bench.until(() => bench.source.snapshot.pools.get('public')?.metadata.inForceSince !== undefined);
    await bench.write('a.yaml', poolYaml('aaa', overlapping));
    await bench.until(() => bench.source.snapshot.pools.has('aaa'));
    expect(refusedOf(bench.source)).toEqual(['aaa']);
    expect(await restarted(bench)).toEqual(['aaa']);
    await record(bench, 'aaa', { refused: overlap, unready: overlap, fields: {} });
    expect(await restarted(bench)).toEqual(['aaa']);
  });

  test('the one in force stays first while its file is broken, and the other takes over when it is deleted', async () => {
    await using bench = await Workbench.started({ 'a.yaml': poolYaml('aaa', overlapping), 'p.yaml': poolYaml('public', inUse) });
    await record(bench, 'aaa', { refused: overlap, unready: overlap, fields: {} });
    await record(bench, 'public', { refused: broken, fields: {} });
    await bench.until(() => bench.source.snapshot.pools.get('public')?.metadata.inForceSince !== undefined);
    expect(refusedOf(bench.source)).toEqual(['aaa']);
    await bench.remove('p.yaml');
    await bench.until(() => !bench.source.snapshot.pools.has('public'));
    expect(refusedOf(bench.source)).toEqual([]);
  });

  test('the record of the running directory decides for another one that a preview reads', async () => {
    await using proposal = await Workbench.over({ 'a.yaml': poolYaml('aaa', overlapping), 'p.yaml': poolYaml('public', inUse) });
    await using bench = await Workbench.over({ 'p.yaml': poolYaml('public', inUse) });
    await record(bench, 'public', { fields: {} });
    await bench.source.start();
    await bench.source.replaceBy(proposal.path(''));
    expect(refusedOf(bench.source)).toEqual(['aaa']);
  });
});
