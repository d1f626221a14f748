import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { explainCommand } from '../../../../src/cli/commands/explain-command.ts';
import { planCommand } from '../../../../src/cli/commands/plan-command.ts';
import { currentConditions } from '../../../../src/cli/commands/tables/current-conditions.ts';
import { openReading } from '../../../../src/cli/reading/open-reading.ts';
import { objectStatusFolder } from '../../../../src/sources/directory/layout.ts';
import { collecting, inProcess } from '../in-process.ts';
import { discard, scratch } from '../program.ts';

const service = `apiVersion: herald.dev/v1alpha1
kind: HeraldConfig
metadata: { name: default }
spec: { defaultClass: true }
---
apiVersion: v1
kind: Service
metadata: { namespace: shop, name: late }
spec: { type: LoadBalancer, clusterIP: 10.96.7.7, ports: [{ port: 80 }] }
`;
/** Its only address is kept for a Service that released it. */
const pool = `apiVersion: herald.dev/v1alpha1
kind: IPAddressPool
metadata: { name: keeping }
spec: { addresses: [100.64.9.7/32], keepReleasedSeconds: 600 }
status:
  released: [{ service: shop/gone, address: 100.64.9.7, until: "2999-01-01T00:00:00Z" }]
`;
let directory: string;

beforeEach(async () => {
  directory = await scratch();
  await writeFile(join(directory, 'service.yaml'), service);
  await writeFile(join(directory, 'pool.yaml'), pool);
  const records = join(directory, objectStatusFolder, 'ipaddresspool');
  await mkdir(records, { recursive: true });
  await writeFile(join(records, 'keeping.yaml'), pool);
});

afterEach(() => discard(directory));

test.each(['source', 'f'])('a Service that waits for an address kept for another hears that the pool is full: %s', async (option) => {
  const from = option === 'f' ? ['-f', directory] : ['--source', directory, '--no-ask'];
  const { stdout } = await inProcess(explainCommand, ['service', 'shop/late', ...from]);
  expect(stdout).toMatch(/^(?:Not|Would not be) served: pool keeping is full \(1 of 1 IPv4 addresses\)/);
});

test('its condition, as a bundle has it, says the same', async () => {
  const reading = await openReading(collecting().context, { source: directory });
  const conditions = await currentConditions(reading);
  reading.close();
  expect(conditions.get('shop/late')?.find(({ type }) => type === 'herald.dev/AddressAssigned')).toMatchObject({
    status: 'False',
    reason: 'PoolFull',
  });
});

test('a plan gives the kept address to no new Service', async () => {
  const proposed = await scratch();
  try {
    for (const [file, text] of [
      ['service.yaml', service.replace('name: late', 'name: later')],
      ['pool.yaml', pool],
    ] as const)
      await writeFile(join(proposed, file), text);
    const { stdout } = await inProcess(planCommand, ['-f', proposed, '--source', directory]);
    expect(stdout).toContain('shop/later');
    expect(stdout).toContain('pool keeping is full');
    expect(stdout).not.toContain('100.64.9.7');
  } finally {
    await discard(proposed);
  }
});
