import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../until.ts';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';
import { nodeName } from './manifests.ts';

/** Two nodes. The watch asks for the IPv4 address only. */
let lab: AgentsOnSegment;
let owner: number;
const other = (): number => 1 - owner;
const asking = (at: number): readonly string[] => ['--source', lab.directory, '--socket', lab.socket(nodeName(at))];

beforeAll(async () => {
  lab = await AgentsOnSegment.build({ nodes: 2 });
  await lab.watch.ask([vip, vip6]);
  [owner = 0] = await lab.untilOwned([vip]);
});
afterAll(async () => {
  await lab?.close();
});

test('explain names the answering node and interface, the answers seen, living nodes and the next owner', async () => {
  const text = await until('the agent has announced the address and hears the other node', async (note) => {
    const found = note((await lab.herald('explain', 'service', 'shop/web', '-o', 'wide', ...asking(owner))).stdout);
    return /announced \d+ s ago/.test(found) && found.includes(`BFD with ${nodeName(other())} is Up`) ? found : undefined;
  });
  const [name, mac] = [nodeName(owner), lab.segment.macOf(owner)];
  expect(text).toMatch(
    new RegExp(`^${vip} by ARP\n  ${name} answers on v0 \\(${mac}\\) for \\d+ s: .*; claimed once \\(asked now\\)$`, 'm'),
  );
  expect(text).toMatch(
    /^ {4}last request answered \d s ago \((?:[\da-f]{2}:){5}[\da-f]{2}\); \d+ in the last minute; announced \d+ s ago$/m,
  );
  expect(text).toMatch(new RegExp(`^  if ${name} fails, ${nodeName(other())} answers$`, 'm'));
});

test('explain names the owner without asking an agent', async () => {
  const { stdout } = await lab.herald('explain', 'service', 'shop/web', '--source', lab.directory, '--no-ask');
  expect(stdout).toContain(`  ${nodeName(owner)} answers on v0 (${lab.segment.macOf(owner)}), as decided and reported`);
});

test('status counts the addresses of each node', async () => {
  const { stdout } = await lab.herald('status', '--source', lab.directory, '--no-ask');
  expect(stdout).toMatch(/^ARP, NDP {4}2 addresses: n0 \d, n1 \d$/m);
});

test('L2-24 a kernel that answers too is in the condition, explain and status, until it is silent', async () => {
  await lab.exec(other(), ['sysctl', '-qw', 'net.ipv4.conf.all.arp_ignore=0']);
  await lab.exec(other(), ['ip', 'address', 'add', `${vip}/32`, 'dev', 'lo']);
  await until('both nodes answer', async (note) => note(await lab.answering()).length === 2);
  const reason = async (): Promise<string> => (await lab.condition('web', 'Announced'))?.reason ?? '';
  await until('the condition says so', async (note) => note(await reason()) === 'L2KernelAnswers');
  expect(await lab.condition('web', 'Announced')).toMatchObject({
    status: 'True',
    message: expect.stringContaining('two nodes answer at once') as unknown,
  });
  expect(await lab.explain('shop/web', '--no-ask')).toContain(
    `the kernel of node "${nodeName(other())}" answers for ${vip} by itself: the address is on lo, and arp_ignore of v0 is 0`,
  );
  expect((await lab.herald('status', '--problems', '--source', lab.directory, '--no-ask')).stdout).toContain('L2KernelAnswers');
  await lab.exec(other(), ['ip', 'address', 'del', `${vip}/32`, 'dev', 'lo']);
  await until('the condition is as before', async (note) => note(await reason()) === 'Announced');
});

test('history names the node that had the address before, and why another one took it', async () => {
  await lab.kill(owner);
  await lab.untilOwner(other(), [vip]);
  const { stdout } = await lab.herald('history', 'service', 'shop/web', ...asking(other()));
  expect(stdout).toMatch(
    new RegExp(
      `Owner: answers for ${vip} on v0: it is the best placed node that lives; before, ${nodeName(owner)} had it, with which BFD is Down`,
    ),
  );
});
