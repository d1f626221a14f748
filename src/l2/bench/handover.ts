import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { wallTime } from '../../../test/lab/l2-agents/watch.ts';
import type { HeraldContender } from './contenders/herald.ts';
import type { Stream } from './stream.ts';

/** The client's requests during planned changes of owner. */
export interface Handover {
  readonly what: string;
  readonly times: number;
  readonly sent: number;
  readonly lost: number;
  readonly load: number;
}

/** A planned change of owner, and the change back. */
interface Plan {
  readonly what: string;
  readonly back: string;
  leave(at: number): Promise<void>;
  comeBack(at: number): Promise<void>;
}

/** Has the owner give its addresses up and get them back, again and again, and counts the requests that the client lost. */
export async function measureHandovers(herald: HeraldContender, stream: Stream, runs: number): Promise<Handover[]> {
  const plans: readonly Plan[] = [
    {
      what: 'SIGTERM (upgrade)',
      back: 'the agent starts again (failback)',
      async leave(at) {
        herald.process(at).kill('SIGTERM');
        await herald.process(at).exited;
      },
      comeBack: (at) => herald.start(at),
    },
    {
      what: 'drain',
      back: 'the drain ends (failback)',
      leave: (at) => herald.drain(at),
      comeBack: () => herald.drain(undefined),
    },
  ];
  const results: Handover[] = [];
  for (const plan of plans) {
    const [there, back] = [
      { sent: 0, lost: 0 },
      { sent: 0, lost: 0 },
    ];
    for (let run = 0; run < runs; run++) {
      const owners = await stream.untilSettled();
      const target = owners[run % owners.length] ?? 0;
      let began = wallTime();
      await plan.leave(target);
      const next = await stream.untilSettled(1_000);
      if (next.includes(target)) await untilOthers(stream, target);
      add(there, await stream.count(began, wallTime()));
      began = wallTime();
      await plan.comeBack(target);
      await stream.untilOwners(owners);
      add(back, await stream.count(began, wallTime()));
    }
    const load = loadavg()[0] ?? Number.NaN;
    results.push({ what: plan.what, times: runs, ...there, load }, { what: plan.back, times: runs, ...back, load });
  }
  return results;
}

async function untilOthers(stream: Stream, target: number): Promise<void> {
  for (;;) {
    const owners = await stream.untilSettled(1_000);
    if (!owners.includes(target)) return;
    await sleep(100);
  }
}

function add(sum: { sent: number; lost: number }, { sent, lost }: { readonly sent: number; readonly lost: number }): void {
  sum.sent += sent;
  sum.lost += lost;
}
