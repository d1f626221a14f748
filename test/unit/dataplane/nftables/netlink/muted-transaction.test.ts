import { describe, expect, test } from 'vitest';
import { runMuted, type MutableMonitor } from '../../../../../src/dataplane/nftables/netlink/muted-transaction.ts';

/** A kernel that numbers transactions, and a monitor that records its calls. */
function setup() {
  const kernel = { generation: 7 };
  const log: string[] = [];
  const listener: MutableMonitor = {
    follower: { setSubscribed: (subscribed) => void log.push(subscribed ? 'subscribed' : 'muted') },
    events: { onChange: ({ revisions }) => void log.push(`change ${revisions.join()}`), onLoss: () => void log.push('loss') },
  };
  const run = (work: () => Promise<string | undefined>): Promise<string | undefined> =>
    runMuted(
      listener,
      () => Promise.resolve(kernel.generation),
      42,
      async () => {
        log.push('work');
        return work();
      },
    );
  return { kernel, log, run };
}

describe('muted transaction', () => {
  test('the transaction is reported as ours when it was the only one', async () => {
    const { kernel, log, run } = setup();
    expect(await run(async () => void kernel.generation++)).toBeUndefined();
    expect(log).toEqual(['muted', 'work', 'subscribed', 'change 42']);
  });

  test('another transaction meanwhile is reported as a loss', async () => {
    const { kernel, log, run } = setup();
    await run(async () => void (kernel.generation += 2));
    expect(log).toEqual(['muted', 'work', 'subscribed', 'loss']);
  });

  test('a refused transaction uses no generation number', async () => {
    const { kernel, log, run } = setup();
    expect(await run(async () => 'refused')).toBe('refused');
    expect(log.at(-1)).toBe('change 42');
    await run(async () => {
      kernel.generation++;
      return 'refused';
    });
    expect(log.at(-1)).toBe('loss');
  });

  test('an error is reported as a loss, and the monitor is subscribed again', async () => {
    const { log, run } = setup();
    await expect(run(() => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
    expect(log).toEqual(['muted', 'work', 'subscribed', 'loss']);
  });

  test('the generation after the highest is one', async () => {
    const { kernel, log, run } = setup();
    kernel.generation = 0xffff_ffff;
    await run(async () => void (kernel.generation = 1));
    expect(log.at(-1)).toBe('change 42');
  });
});
