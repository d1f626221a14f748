import { expect, test } from 'vitest';
import { CommitOutcomeUnknown } from '../../../../../src/dataplane/nftables/executor.ts';
import { netlinkExecutor } from '../../../../../src/dataplane/nftables/netlink/netlink-executor.ts';
import { NetlinkError } from '../../../../../src/system/netlink/error.ts';
import type { NetlinkSocket } from '../../../../../src/system/netlink/socket.ts';
import { VirtualClock } from '../../../../../src/system/virtual-clock.ts';

/** A kernel that takes every datagram and never answers. */
function silentSocket(): NetlinkSocket {
  return {
    fd: -1,
    port: 1,
    send: () => Promise.resolve(),
    receive: () => undefined,
    receiveInThread: () => Promise.resolve(undefined),
    setMembership: () => true,
    close: () => undefined,
  };
}

test('a lost acknowledgement of a transaction is reported as an unknown outcome, not as a failure', async () => {
  const executor = netlinkExecutor(new VirtualClock(), { own: false }, silentSocket);
  await expect(executor.removeTables()).rejects.toBeInstanceOf(CommitOutcomeUnknown);
});

test('a machine without netlink for Herald is refused with the cause', () => {
  const by = (open: () => NetlinkSocket | undefined) => () => netlinkExecutor(new VirtualClock(), { own: true }, open);
  expect(by(() => undefined)).toThrow(
    expect.objectContaining({ code: 'unavailable', message: expect.stringContaining('koffi') as string }),
  );
  const refuses = () => {
    throw new NetlinkError('opening a netlink socket', 93);
  };
  expect(by(refuses)).toThrow(
    expect.objectContaining({
      code: 'unavailable',
      message: 'the kernel refuses a netlink socket to the data plane: opening a netlink socket: protocol not supported',
    }),
  );
});
