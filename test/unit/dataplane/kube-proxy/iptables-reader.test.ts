import { expect, test } from 'vitest';
import { IptablesReader } from '../../../../src/dataplane/kube-proxy/iptables-reader.ts';
import { limits } from '../../../../src/dataplane/kube-proxy/limits.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

function bed() {
  const clock = new VirtualClock();
  const state = { generation: 1 as number | undefined, fails: false, reads: 0, rules: [] as string[] };
  const changes: (ReadonlySet<string> | undefined)[] = [];
  const reader = new IptablesReader(
    {
      clock,
      list: (command, { name }) => {
        if (state.fails) return Promise.reject(new Error('the lock is held'));
        if (command !== 'iptables-nft') return Promise.resolve([]);
        if (name === 'KUBE-MARK-MASQ') state.reads++;
        return Promise.resolve(state.rules.filter((rule) => rule.startsWith(`-A ${name} `)));
      },
      generation: () => Promise.resolve(state.generation),
    },
    (frontends) => changes.push(frontends),
  );
  const poll = async () => {
    clock.advance(limits.iptablesPollMilliseconds);
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  };
  return { state, changes, reader, poll };
}

const mark = '-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000';
const web = '-A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-WEB';

test('the chains of kube-proxy are read again only after a transaction', async () => {
  const { state, changes, reader, poll } = bed();
  await reader.start();
  await poll();
  await poll();
  expect(state.reads).toBe(1);
  [state.generation, state.rules] = [2, [mark, web]];
  await poll();
  expect([reader.present, reader.has('10.96.0.10 TCP 80'), reader.masqueradeBits, changes.length]).toEqual([true, true, [14], 1]);
  await reader.stop();
});

test('the chains are read at each poll while rules may change unseen', async () => {
  const { state, reader, poll } = bed();
  state.generation = undefined;
  await reader.start();
  await poll();
  await poll();
  expect(state.reads).toBe(3);
  await reader.stop();
});

test('chains that could not be read are read at the next poll, and after a new start', async () => {
  const { state, reader, poll } = bed();
  await reader.start();
  [state.generation, state.fails] = [2, true];
  await poll();
  state.fails = false;
  await poll();
  expect(state.reads).toBe(2);
  await reader.stop();
  state.rules = [mark];
  await reader.start();
  expect([state.reads, reader.present]).toEqual([3, true]);
  await reader.stop();
});
