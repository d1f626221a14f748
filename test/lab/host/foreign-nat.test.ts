import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../until.ts';
import { labWithClientBackend, webServer } from './client-backend.ts';
import type { TwoNodes } from './two-nodes.ts';

let lab: TwoNodes;

beforeAll(async () => {
  const other = webServer.replace("'web'", "'other'");
  lab = await labWithClientBackend(`${other}.listen(9090, '::'); ${webServer}`);
  await lab.startAgent('node1');
});

afterAll(async () => {
  await lab?.stop();
});

const untilAnswers = (url: string, body: string): Promise<unknown> =>
  until(`${url} answers ${body}`, async (note) => note(await lab.get(url))?.body === body);

/** The other program's rule masquerades too, so that its answers find the way back. */
const table = (family: 'ip' | 'ip6', priority: number, rule: string): string => `table ${family} other {
  chain early { type nat hook prerouting priority ${priority}; policy accept; ${rule}; }
  chain late { type nat hook postrouting priority 90; policy accept; masquerade; }
}`;

test.each([
  ['ip', 'http://10.96.0.20/', 'ip daddr 10.96.0.20 tcp dport 80 dnat to 10.71.1.2:9090', 'tcp dport 81 dnat to 10.71.1.2:9090'],
  ['ip6', 'http://[fd00:96::20]/', 'ip6 daddr fd00:96::20 tcp dport 80 dnat to [fd71:1::2]:9090', 'tcp dport 81 dnat to [fd71:1::2]:9090'],
] as const)("another program's %s translation before Herald's takes the requests and is reported", async (family, url, rule, harmless) => {
  await untilAnswers(url, 'web');
  await lab.exec('node1', ['nft', table(family, -150, rule)]);
  await untilAnswers(url, 'other');
  await until('the report names chain and rule', async (note) => {
    const [difference] = note((await lab.report('node1')).differing);
    return difference?.aspect === 'Programmed' && difference.reason.code === 'ForeignNat';
  });
  const explanation = await lab.explain('shop/web');
  expect(explanation).toContain(`chain early of table ${family} other`);
  expect(explanation).toMatch(/daddr \S+ tcp dport 80 dnat/);

  // The same rule after Herald's has no effect, and a rule for another port does not concern the Service.
  await lab.exec('node1', ['nft', 'delete', 'table', family, 'other']);
  await lab.exec('node1', ['nft', table(family, -100, rule)]);
  await untilAnswers(url, 'web');
  await until('the report has no difference', async (note) => note((await lab.report('node1')).differing).length === 0);
  await lab.exec('node1', ['nft', 'delete', 'table', family, 'other']);
  await lab.exec('node1', ['nft', table(family, -150, harmless)]);
  await untilAnswers(url, 'web');
  await lab.exec('node1', ['nft', 'delete', 'table', family, 'other']);
});
