import { expect, test } from 'vitest';
import { DataplaneError } from '../../../../../src/dataplane/dataplane.ts';
import { generationAttributes, messages } from '../../../../../src/dataplane/nftables/netlink/constants.ts';
import { RulesetLookup } from '../../../../../src/dataplane/nftables/netlink/ruleset-lookup.ts';
import { MessageWriter } from '../../../../../src/system/netlink/message-writer.ts';
import { messageTypes } from '../../../../../src/system/netlink/message.ts';
import type { NetlinkSocket } from '../../../../../src/system/netlink/socket.ts';
import { VirtualClock } from '../../../../../src/system/virtual-clock.ts';

/** A kernel whose latest transaction has number 7. `answer` may replace that by an error number, or by silence. */
function bed() {
  const state = { opened: 0, closed: 0, brief: 0, answer: 'generation' as 'generation' | 'silence' | number };
  const open = (): NetlinkSocket => {
    state.opened++;
    const waiting: Uint8Array[] = [];
    return {
      fd: -1,
      port: 1,
      send(datagram, isBrief = false) {
        state.brief += Number(isBrief);
        const sequence = Buffer.from(datagram).readUInt32LE(8);
        const writer = new MessageWriter();
        const isError = typeof state.answer === 'number';
        const start = writer.beginMessage({ type: isError ? messageTypes.error : messages.newGeneration, flags: 0, sequence });
        if (typeof state.answer === 'number') {
          const errno = Buffer.alloc(4);
          errno.writeInt32LE(-state.answer);
          writer.raw(Buffer.concat([errno, Buffer.alloc(16)]));
        } else {
          writer.raw(new Uint8Array(4));
          writer.numberAttribute(generationAttributes.number, 7);
        }
        writer.endMessage(start);
        if (state.answer !== 'silence') waiting.push(writer.bytes());
        return Promise.resolve();
      },
      receiveInThread: () => Promise.resolve(undefined),
      receive: () => waiting.shift(),
      setMembership: () => true,
      close: () => state.closed++,
    };
  };
  return { state, lookup: new RulesetLookup(new VirtualClock(), undefined, open) };
}

test('all questions share one socket, and close closes it', async () => {
  const { state, lookup } = bed();
  expect(await Promise.all([lookup.generation(), lookup.generation()])).toEqual([7, 7]);
  expect(await lookup.generation()).toBe(7);
  expect(state).toMatchObject({ opened: 1, closed: 0 });
  await lookup.close();
  expect(state).toMatchObject({ opened: 1, closed: 1 });
  expect(await lookup.generation()).toBe(7);
  expect(state).toMatchObject({ opened: 2, closed: 1 });
});

test('a question is sent as a brief one, so that its answer does not wait for other work', async () => {
  const { state, lookup } = bed();
  await lookup.generation();
  await lookup.hasNetdevTable('herald');
  expect(state.brief).toBe(2);
});

test('a generation that the kernel does not tell is undefined, and the next question opens another socket', async () => {
  const { state, lookup } = bed();
  state.answer = 'silence';
  expect(await lookup.generation()).toBeUndefined();
  expect(state).toMatchObject({ opened: 1, closed: 1 });
  state.answer = 'generation';
  expect(await lookup.generation()).toBe(7);
  expect(state).toMatchObject({ opened: 2, closed: 1 });
});

test('a table exists unless the kernel says ENOENT, and any other error rejects', async () => {
  const { state, lookup } = bed();
  expect(await lookup.hasNetdevTable('herald_direct')).toBe(true);
  state.answer = 2;
  expect(await lookup.hasNetdevTable('herald_direct')).toBe(false);
  expect(state).toMatchObject({ opened: 1, closed: 0 });
  state.answer = 1;
  await expect(lookup.hasNetdevTable('herald_direct')).rejects.toEqual(
    expect.objectContaining({ name: DataplaneError.name, code: 'permission' }),
  );
});
