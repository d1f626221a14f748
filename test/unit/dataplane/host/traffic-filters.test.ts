import { describe, expect, test } from 'vitest';
import { readFilter, readProgrammedLink } from '../../../../src/dataplane/host/traffic-filters.ts';
import { MessageWriter } from '../../../../src/system/netlink/message-writer.ts';

/** Writes a message of the kernel without its header. */
function payload(header: readonly number[], write: (writer: MessageWriter) => void): Uint8Array {
  const writer = new MessageWriter();
  const start = writer.beginMessage({ type: 16, flags: 0, sequence: 1 });
  writer.raw(Uint8Array.from(header));
  write(writer);
  writer.endMessage(start);
  return writer.bytes().subarray(16);
}

const link = (write: (writer: MessageWriter) => void): Uint8Array =>
  payload([0, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (writer) => {
    writer.textAttribute(3, 'eth0');
    write(writer);
  });

/** IFLA_XDP with IFLA_XDP_ATTACHED and IFLA_XDP_PROG_ID. */
const xdp = (attached: number, program: number): Uint8Array =>
  link((writer) => {
    const nested = writer.beginNested(43);
    writer.bytesAttribute(2, Uint8Array.of(attached));
    if (attached > 0) writer.hostNumberAttribute(4, program);
    writer.endNested(nested);
  });

describe('an interface', () => {
  test.each([
    ['with an XDP program', xdp(2, 97), { index: 7, name: 'eth0', program: 97 }],
    ['with XDP switched off', xdp(0, 0), { index: 7, name: 'eth0' }],
    ['of a kernel without XDP', link(() => undefined), { index: 7, name: 'eth0' }],
  ])('%s is read', (_, message, expected) => {
    expect(readProgrammedLink(message)).toEqual(expected);
  });
});

function filter(kind: string, { handle = 1, name = '', id = 0 } = {}): Uint8Array {
  return payload([0, 0, 0, 0, 7, 0, 0, 0, handle, 0, 0, 0, 0xf2, 0xff, 0xff, 0xff, 0, 0, 0, 0], (writer) => {
    writer.textAttribute(1, kind);
    const nested = writer.beginNested(2);
    if (name !== '') writer.textAttribute(7, name);
    if (id > 0) writer.hostNumberAttribute(11, id);
    writer.endNested(nested);
  });
}

describe('a filter of tc', () => {
  test.each([
    ['of BPF', filter('bpf', { name: 'lb.o:[ingress]', id: 12 }), { text: 'bpf lb.o:[ingress], id 12' }],
    ['of Cilium', filter('bpf', { name: 'cil_from_netdev-eth0', id: 3 }), { text: 'bpf cil_from_netdev-eth0, id 3', plugin: 'Cilium' }],
    ['of another kind', filter('flower'), { text: 'flower' }],
    ['without a handle, the head of a list', filter('bpf', { handle: 0 }), undefined],
  ])('%s is read', (_, message, expected) => {
    expect(readFilter(message)).toEqual(expected);
  });
});
