import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { vip, vip6 } from '../../../test/lab/l2-agents/agents-on-segment.ts';
import { nodeAddress, nodeAddress6 } from '../../../test/lab/l2-agents/manifests.ts';
import { longestDoubled, wallTime, Watch } from '../../../test/lab/l2-agents/watch.ts';
import { run } from '../../../test/peers/link.ts';
import { nodes, type Contender } from './contenders/contender.ts';
import { faults, type Fault } from './faults.ts';

/** Observations of two clients during many changes of owner. */
export interface TwoOwners {
  readonly changes: number;
  /** Answers that the clients received. */
  readonly answers: number;
  /** The longest time, in milliseconds, for which two nodes answered the same client for the same address. */
  readonly longest: number;
  /** The same by fault, the repair included. */
  readonly byFault: Readonly<Record<string, number>>;
  readonly load: number;
}

/** Cuts the bridge in two: a node and the second client are on the one side, everything else is on the other. Heals it again. */
const partition: Fault = {
  name: 'partition',
  apply({ lab }, at) {
    const { bridge } = lab.segment;
    run('ip', '-n', bridge, 'link', 'add', 'br1', 'type', 'bridge', 'mcast_snooping', '0');
    run('ip', '-n', bridge, 'link', 'set', 'br1', 'up');
    for (const host of [at, lab.strangerHost()]) run('ip', '-n', bridge, 'link', 'set', `p${host}`, 'master', 'br1');
  },
  repair({ lab }, at) {
    const { bridge } = lab.segment;
    for (const host of [at, lab.strangerHost()]) run('ip', '-n', bridge, 'link', 'set', `p${host}`, 'master', 'br0');
    run('ip', '-n', bridge, 'link', 'del', 'br1');
    return Promise.resolve();
  },
};

/** Two clients ask for the addresses all the time, while faults and partitions change the owners: each fault hits one node after the other. */
export async function measureTwoOwners(contender: Contender, changes: number): Promise<TwoOwners> {
  const { lab } = contender;
  const second = lab.strangerHost();
  const options = { own: nodeAddress(second), own6: nodeAddress6(second), ownMac: lab.segment.macOf(second) };
  const watches = [lab.watch, new Watch(lab.segment.host(second), options)];
  const began: { readonly fault: string; readonly at: number }[] = [];
  const all = [...faults, partition];
  try {
    for (const watch of watches) await watch.ask([vip, vip6]);
    // A fault and its repair are two changes.
    for (let change = 0; change < changes; change += 2) {
      const fault = all[(change / 2) % all.length];
      const at = nodes[Math.floor(change / 2 / all.length) % nodes.length] ?? 0;
      if (fault === undefined) continue;
      began.push({ fault: fault.name, at: wallTime() });
      fault.apply(contender, at);
      await sleep(500 + 1_500 * Math.random());
      await fault.repair(contender, at);
      await sleep(1_000 + 1_500 * Math.random());
    }
    const seen = await Promise.all(watches.map(async (watch) => (await watch.frames()).filter(({ at }) => at >= (began[0]?.at ?? 0))));
    const byFault: Record<string, number> = {};
    for (const [index, { fault, at }] of began.entries()) {
      const end = began[index + 1]?.at ?? Infinity;
      const meanwhile = seen.map((frames) => frames.filter((frame) => frame.at >= at && frame.at < end));
      const longest = Math.max(...meanwhile.flatMap((frames) => [vip, vip6].map((address) => longestDoubled(frames, address))));
      byFault[fault] = Math.max(byFault[fault] ?? 0, longest);
    }
    const answers = seen.flat().filter(({ kind }) => kind === 'answer').length;
    const longest = Math.max(...Object.values(byFault));
    return { changes, answers, longest, byFault, load: loadavg()[0] ?? Number.NaN };
  } finally {
    for (const watch of watches) await watch.ask([]);
    await watches[1]?.kill();
  }
}
