import { setTimeout as sleep } from 'node:timers/promises';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { LabProcess } from '../lab-process.ts';
import { inNamespace } from '../namespace.ts';
import { signal, type ProcessIdentity } from '../owner.ts';
import { until } from '../until.ts';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';
import { rankedByNumber } from './manifests.ts';
import { wallTime } from './watch.ts';

let lab: AgentsOnSegment | undefined;
const started: ProcessIdentity[] = [];

afterEach(async () => {
  for (const identity of started.splice(0)) signal(identity, 'SIGKILL');
  await lab?.close();
  lab = undefined;
});

/** Builds nodes of which n0 is the best placed one, and a stranger on their link. */
async function build(advertisement: object = {}, { idle = false, nodes = 2 } = {}): Promise<AgentsOnSegment> {
  const bed = await AgentsOnSegment.build({ nodes, strangers: 1, advertisement: { ...rankedByNumber, ...advertisement }, idle });
  lab = bed;
  await bed.watch.ask([vip, vip6], 20);
  return bed;
}

/** Gives the stranger the addresses, without duplicate address detection. It tells nobody. */
async function take(bed: AgentsOnSegment, verb: 'add' | 'del'): Promise<void> {
  await bed.exec(bed.strangerHost(), ['ip', 'addr', verb, `${vip}/16`, 'dev', 'v0']);
  await bed.exec(bed.strangerHost(), ['ip', 'addr', verb, `${vip6}/64`, 'dev', 'v0', ...(verb === 'add' ? ['nodad'] : [])]);
}

const strangerMac = (bed: AgentsOnSegment): string => bed.segment.macOf(bed.strangerHost());

/**
 * Builds one node, which announces only the claim and its defence: there are no refreshes, of which the first comes at a random time, and no
 * other node, to which it announces the address again whenever a session with that one comes up.
 */
async function buildQuiet(): Promise<AgentsOnSegment> {
  const bed = await build({ refreshInterval: '0s' }, { nodes: 1 });
  await bed.untilOwner(0);
  // After the schedule of the claim.
  await sleep(5_000);
  return bed;
}

/** Waits until the condition says that the stranger has an address, and returns its message. */
async function untilReported(bed: AgentsOnSegment): Promise<string> {
  return until(`the condition names ${strangerMac(bed)}`, async (note) => {
    const condition = note(await bed.condition('web', 'Announced'));
    return condition?.message.includes(strangerMac(bed)) === true
      ? `${condition.status} ${condition.reason}: ${condition.message}`
      : undefined;
  });
}

describe('a foreign host that has the address first', () => {
  test('L2-6 L2-22 keeps it, condition and explain name the host, and a node claims when it has gone', async () => {
    const bed = await build({}, { idle: true });
    await take(bed, 'add');
    bed.startController();
    await Promise.all([bed.startAgent(0), bed.startAgent(1)]);
    await untilReported(bed);
    const text = await bed.explain();
    expect(text).toContain(`${strangerMac(bed)} on v0`);
    expect(text).toMatch(/^Not served/);
    await sleep(1_000);
    for (const address of [vip, vip6]) expect([...(await bed.watch.answers(address, 0)).keys()]).toEqual([strangerMac(bed)]);
    expect((await bed.watch.frames()).filter(({ kind, mac }) => kind === 'announcement' && mac !== strangerMac(bed))).toEqual([]);
    await take(bed, 'del');
    await bed.untilOwner(0);
    await until('the condition is True again', async (note) => note(await bed.condition('web', 'Announced'))?.status === 'True');
  });
});

describe('a foreign host that claims a held address', () => {
  test('L2-12 is answered by one announcement in 10 s, and reported within a second', async () => {
    const bed = await buildQuiet();
    const began = wallTime();
    await bed.exec(bed.strangerHost(), ['ip', 'addr', 'add', `${vip}/16`, 'dev', 'v0']);
    await bed.exec(bed.strangerHost(), ['arping', '-U', '-c', '4', '-i', 'v0', '-S', vip, vip], { check: false });
    const message = await untilReported(bed);
    expect(message).toMatch(/^True L2AddressContested: Not fully served: .* the node answers and announces it again/);
    expect(await bed.explain()).toMatch(/^Not fully served/);
    const own = (await bed.watch.frames()).filter(
      ({ at, kind, mac, address }) =>
        kind === 'announcement' && at >= began && at < began + 9_000 && address === vip && mac === bed.segment.macOf(0),
    );
    // One announcement, in both forms. The history tells whether the node announced for another reason, such as a stall of its thread.
    const { stdout: history } = await bed.herald('history', 'node', 'n0', '--source', bed.directory, '--socket', bed.socket('n0'));
    expect(own.length, history).toBeLessThanOrEqual(2);
    expect(own.length, history).toBeGreaterThan(0);
    expect(await bed.answering()).toContain(0);
    await bed.exec(bed.strangerHost(), ['ip', 'addr', 'del', `${vip}/16`, 'dev', 'v0']);
    await until('the conflict is over', async (note) => note(await bed.condition('web', 'Announced'))?.reason === 'Announced');
  });

  test('L2-12 is given the address with onConflict withdraw, until it has gone', async () => {
    const bed = await build({ onConflict: 'withdraw' });
    await bed.untilOwner(0);
    await take(bed, 'add');
    await bed.exec(bed.strangerHost(), ['arping', '-U', '-c', '2', '-i', 'v0', '-S', vip, vip], { check: false });
    const message = await untilReported(bed);
    expect(message).toMatch(/^False L2AddressConflict: .* it is not announced/);
    await until('only the stranger answers', async (note) => note(await bed.answering()).join() === `${bed.strangerHost()}`);
    await take(bed, 'del');
    await bed.untilOwner(0, [vip]);
  });

  test('L2-12 is keepalived as MASTER of the address', async () => {
    const bed = await buildQuiet();
    const config = join(bed.directory, '.keepalived.conf');
    await writeFile(
      config,
      `vrrp_instance home {
  state MASTER
  interface v0
  virtual_router_id 7
  priority 200
  advert_int 1
  virtual_ipaddress { ${vip}/16 dev v0 }
}
`,
    );
    const began = wallTime();
    await chmod(config, 0o644);
    const keepalived = new LabProcess(
      inNamespace(bed.segment.host(bed.strangerHost()), [
        'keepalived',
        '-n',
        '-l',
        '-f',
        config,
        '-p',
        `${config}.pid`,
        '-r',
        `${config}.vrrp`,
      ]),
      { logFile: `${config}.log`, record: (identity) => void started.push(identity) },
    );
    await untilReported(bed);
    await sleep(2_000);
    const all = (await bed.watch.frames()).filter(({ at, kind, address }) => kind === 'announcement' && at >= began && address === vip);
    expect(all.filter(({ mac }) => mac === strangerMac(bed)).length).toBeGreaterThan(2);
    const first = all.find(({ mac }) => mac === strangerMac(bed))?.at ?? 0;
    const own = all.filter(({ mac, at }) => mac === bed.segment.macOf(0) && at < first + 9_000);
    expect(own.length).toBeGreaterThan(0);
    expect(own.length).toBeLessThanOrEqual(2);
    await keepalived.stop();
    await bed.untilOwner(0);
  });
});
