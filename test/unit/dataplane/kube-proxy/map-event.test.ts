import { describe, expect, test } from 'vitest';
import { readMapEvent } from '../../../../src/dataplane/kube-proxy/nftables-reader.ts';
import { Batch } from '../../../../src/dataplane/nftables/netlink/batch.ts';
import { messages } from '../../../../src/dataplane/nftables/netlink/constants.ts';
import { readMessages, type Message } from '../../../../src/system/netlink/message.ts';

/** A message about a table or a set: the first attribute is the name of the table (NFTA_TABLE_NAME, NFTA_SET_TABLE). */
function messageOf(type: number, table: string): Message {
  const batch = new Batch(1);
  batch.appendMessage(type, 0, 4, 'a test', [[1, table]]);
  const found = [...readMessages(batch.end().datagram)].find((message) => message.type === type);
  if (found === undefined) throw new Error('no message');
  return found;
}

describe('events about tables and sets', () => {
  test.each(['newTable', 'delTable', 'newSet', 'delSet'] as const)("%s of kube-proxy's table makes the maps be read again", (type) => {
    expect(readMapEvent(messageOf(messages[type], 'kube-proxy'))).toEqual({ kind: 'structure' });
  });

  test('other tables and other messages are no event', () => {
    expect(readMapEvent(messageOf(messages.delTable, 'herald'))).toBeUndefined();
    expect(readMapEvent(messageOf(messages.newRule, 'kube-proxy'))).toBeUndefined();
  });
});
