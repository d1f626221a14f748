import { afterAll, beforeAll, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: [{ name: 'web-1', node: 'node1' }] }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/.*nodeName: node[23].*\n/g, ''));
  const run = herald.startRun('node1');
  await run.waitForLine(/agent started/);
  addresses = await herald.untilAssigned('shop/web', 2);
  await untilServed();
  await herald.edit('20-herald.yaml', (text) => text.replace('198.51.100.10-198.51.100.99', '198.51.100.999'));
  await run.waitForLine(/last good version stays in force/);
  await lab.until('the last good version is recorded', () => herald.read('.herald/last-good/20-herald.yaml').catch(() => undefined));
  await expectAgreement();
  await run.stop();
  for (const address of addresses) await untilNextHops(lab, 'tor1', address, []);
});

afterAll(async () => {
  await lab?.stop();
});

/** Every router has the routes and the client is served, over IPv4 and IPv6. */
async function untilServed(): Promise<void> {
  for (const address of addresses) {
    for (const tor of ['tor1', 'tor2']) await untilNextHops(lab, tor, address, viaNodes(tor, ['node1'], address));
    // The client is behind the spine, which learns the routes from the ToRs.
    await untilSpineRoutes(lab, address);
    const { errors, pods } = await lab.client.tcp({ address, port: 80, count: 5 });
    expect(errors).toEqual({});
    expect(Object.keys(pods)).toEqual(['web-1']);
  }
}

/** The command line says what routers and client see, and shows the broken file first. */
async function expectAgreement(): Promise<void> {
  await untilServed();
  const { stdout } = await herald.run('explain', 'service', 'shop/web', '--source', herald.directory, '--socket', herald.socket('node1'));
  expect(stdout).toMatch(/^problem: 20-herald\.yaml:\d+:/);
  expect(stdout).toMatch(/IPAddressPool\/public: spec\.addresses\[0\]: "198\.51\.100\.999"/);
  for (const address of addresses) {
    expect(stdout).toContain(`${address} is announced to`);
    expect(stdout).not.toContain(`${address} is not announced`);
  }
  expect(stdout).not.toContain('time out');
  const status = await herald.run('status', '--source', herald.directory);
  expect(status.stdout).toMatch(/^problem: 20-herald\.yaml:/);
  for (const type of ['AddressAssigned', 'Programmed', 'Announced'])
    expect((await herald.service('shop', 'web')).conditions[type]?.status).toBe('True');
}

test('a pool that an edit broke stays in force after a restart, and explain agrees with routers and client', async () => {
  const run = herald.startRun('node1');
  await run.waitForLine(/agent started/);
  await herald.untilCondition('shop/web', 'Announced', 'True');
  await expectAgreement();
  await herald.edit('20-herald.yaml', (text) => text.replace('198.51.100.999', '198.51.100.10-198.51.100.99'));
  await run.waitForLine(/source problem solved/);
  await lab.until('the record is gone', () =>
    herald.read('.herald/last-good/20-herald.yaml').then(
      () => undefined,
      () => true,
    ),
  );
  await untilServed();
  await run.stop();
});
