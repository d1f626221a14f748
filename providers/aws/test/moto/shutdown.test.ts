import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../../../test/lab/until.ts';
import { DirectoryFixture } from './directory-fixture.ts';

/** More than the controller can create until the first load balancer is seen. */
const services = Array.from({ length: 400 }, (_, index) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: `web-${index}`, namespace: 'default' },
  spec: {
    clusterIP: `10.96.${1 + (index >> 7)}.${1 + (index & 127)}`,
    type: 'LoadBalancer',
    loadBalancerClass: 'herald.dev/aws',
    ports: [{ name: 'http', port: 80, nodePort: 31_080 + index }],
  },
}));

let fixture: DirectoryFixture;
beforeAll(async () => {
  fixture = await DirectoryFixture.start();
  fixture.write('services.yaml', services);
});
afterAll(() => fixture?.stop());

function records(): string {
  const folder = join(fixture.directory, '.herald');
  return globSync('**/*', { cwd: folder, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => readFileSync(join(one.parentPath, one.name), 'utf8'))
    .join('\n');
}

test('SIGTERM while Services are created leaves no condition, no Event and no warning about AWS', async () => {
  await fixture.startController();
  await until('the first load balancer exists', async () => (await fixture.accountState()).nlbs.length > 0);
  await fixture.stopController();
  const made = (await fixture.accountState()).nlbs.length;
  expect(made).toBeLessThan(services.length);
  expect(existsSync(join(fixture.directory, '.herald'))).toBe(true);
  expect(records()).not.toMatch(/AwsCallFailed|AwsRefused|AwsThrottled/);
  const log = readFileSync(join(fixture.directory, '.herald-controller.log'), 'utf8');
  expect(log).toContain('stopping');
  expect(log).not.toMatch(/AwsCallFailed|call to AWS failed|failed, will be retried|background work for AWS failed/);
});
