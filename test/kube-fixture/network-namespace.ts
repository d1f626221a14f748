import { ok as assert } from 'node:assert';
import { closeSync, openSync } from 'node:fs';
import { loadLibc } from '../../src/system/ffi/libc.ts';

const CLONE_NEWNET = 0x4000_0000;

/** Does something with this thread in a namespace that `ip netns add` made. It must not wait: sockets stay where they were opened, and the thread moves back. */
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
