import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { explainServiceCommand } from '../../../../../src/cli/commands/explain-service.ts';
import { statusCommand } from '../../../../../src/cli/commands/tables/status-command.ts';
import { inProcess } from '../../in-process.ts';
import { discard, scratch } from '../../program.ts';

/** A Service that waits because a controller found a damaged record when it started. */
let directory: string;
const damaged = '.herald/status/services/shop/tea.yaml';

beforeEach(async () => {
  directory = await scratch('10-cluster.yaml', '20-herald.yaml');
  await writeFile(
    join(directory, 'web.yaml'),
    'apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {type: LoadBalancer, clusterIP: 10.96.0.77, ports: [{port: 80, nodePort: 30077}], selector: {app: web}}\n',
  );
});

afterEach(() => discard(directory));

async function record(name: string, text: string): Promise<void> {
  await mkdir(join(directory, '.herald/status/services/shop'), { recursive: true });
  await writeFile(join(directory, `.herald/status/services/shop/${name}.yaml`), text);
}

const written = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
status:
  loadBalancer: {}
  conditions:
    - {type: herald.dev/AddressAssigned, status: 'False', reason: RecordUnreadable, message: A record cannot be read}
`;

const line = `Not served: ${damaged} cannot be read, so the addresses recorded in it are not known: no address is assigned until it is repaired. Repair ${damaged}; or delete it, and its Service gets a new address.`;

test('explain and status name the damaged record for which the controller assigns no addresses', async () => {
  await record('web', written);
  await record('tea', '{');
  const explained = await inProcess(explainServiceCommand, ['shop/web', '--source', directory, '--no-ask']);
  expect(explained.stdout.split('\n').find((one) => one.startsWith('Not served'))).toBe(line);
  const { stdout } = await inProcess(statusCommand, ['--source', directory, '--problems', '--no-ask', '-o', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({
    problems: expect.arrayContaining([expect.objectContaining({ object: 'Service/shop/web', code: 'RecordUnreadable', line })]) as unknown,
  });
});

test.each<[string, string, string]>([
  ['no record is damaged', written, written.replace('name: web', 'name: tea')],
  ['the controller has not suspended anything', written.replace('RecordUnreadable', 'NoAddress'), '{'],
])('they ask for a controller when %s', async (_, own, other) => {
  await record('web', own);
  await record('tea', other);
  const { stdout } = await inProcess(explainServiceCommand, ['shop/web', '--source', directory, '--no-ask']);
  expect(stdout).toContain('Not served: the Service has no address yet');
});
