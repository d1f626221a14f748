import { ok as assert } from 'node:assert';
import { closeSync, openSync } from 'node:fs';
import { loadLibc } from '../../src/system/ffi/libc.ts';

const CLONE_NEWNET = 0x4000_0000;

/**
 * Runs `act` on this thread inside a namespace that `ip netns add` created. `act` must be synchronous: sockets stay in the namespace where
 * they were opened, and the thread then returns.
 */
export function inNetworkNamespace<T>(name: string, act: () => T): T {
  const libc = loadLibc();
  if (libc === undefined) throw new Error('koffi has no binary for this machine');
  const home = openSync('/proc/thread-self/ns/net', 'r');
  const there = openSync(`/run/netns/${name}`, 'r');
  try {
    assert(libc.setns(there, CLONE_NEWNET) === 0, `cannot enter the network namespace ${name}`);
    try {
      return act();
    } finally {
      assert(libc.setns(home, CLONE_NEWNET) === 0, 'cannot return to the own network namespace');
    }
  } finally {
    closeSync(there);
    closeSync(home);
  }
}
