import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterEach, expect, test } from 'vitest';
import { run } from '../command.ts';
import { until } from '../until.ts';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';

let lab: AgentsOnSegment | undefined;

afterEach(async () => {
  await lab?.close();
  lab = undefined;
});

/** The capabilities of the container of an agent: manifests/base/agent.yaml. */
const shipped = ['net_admin', 'net_bind_service', 'net_raw'] as const;

async function build(rightsOf: (at: number) => readonly string[], program: readonly string[] = []): Promise<AgentsOnSegment> {
  const built = await AgentsOnSegment.build({ nodes: 2, idle: true });
  lab = built;
  built.startController();
  for (const at of [0, 1]) {
    const only = ['-all', ...rightsOf(at).map((capability) => `+${capability}`)].join(',');
    built.wrap(at, 'setpriv', '--no-new-privs', `--bounding-set=${only}`, `--inh-caps=${only}`, ...program);
    await built.startAgent(at);
  }
  await built.watch.ask([vip, vip6]);
  return built;
}

test('agents with the capabilities of the manifests, and no others, announce addresses and take them over', async () => {
  const agents = await build(() => shipped);
  const [owner = 0] = await agents.untilOwned([vip]);
  await agents.kill(owner);
  await agents.untilOwner(1 - owner, [vip, vip6]);
});

test('an agent without NET_RAW reports it, and another node answers', async () => {
  const agents = await build((at) => (at === 0 ? ['net_admin', 'net_bind_service'] : shipped));
  await agents.untilOwner(1, [vip, vip6]);
  const found = await until('the node reports the missing right', async (note) => {
    const { host = [] } = note(await agents.report(0));
    return host.find(({ code }) => code === 'L2NoSocket');
  });
  expect(found.message).toMatch(/can neither hear nor send ARP and NDP on v0: .*(EPERM|not permitted)/);
});

test('agents of the bundled program, as the image runs it, announce addresses and take them over', async () => {
  const root = join(import.meta.dirname, '../../..');
  const folder = await mkdtemp(join(tmpdir(), 'herald-bundle-'));
  try {
    await run([process.execPath, join(root, 'scripts/build-program.ts'), '--folder', join(folder, 'program')], { timeoutMs: 120_000 });
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    // In place of the program that follows as the first argument.
    const bundled = ['sh', '-c', `shift; exec '${process.execPath}' '${join(folder, 'program/herald.js')}' "$@"`, 'sh'];
    const agents = await build(() => shipped, bundled);
    const [owner = 0] = await agents.untilOwned([vip]);
    await agents.kill(owner);
    await agents.untilOwner(1 - owner, [vip, vip6]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
