import { createSocket } from 'node:dgram';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { receiveBatch } from '../../../../src/bfd/limits.ts';
import { DatagramBatch } from '../../../../src/bfd/transport/linux/datagram-batch.ts';
import { DatagramSocket } from '../../../../src/bfd/transport/linux/datagram-socket.ts';
import { addressBytes, address } from '../../../../src/net/address.ts';
import { loadLibc } from '../../../../src/system/ffi/libc.ts';
import { hasIpv6 } from '../../../bgp/test/transport/loopback.ts';

const libc = loadLibc();

describe.skipIf(libc === undefined)('datagrams received with one system call', () => {
  test.each([[4, '127.0.0.1'] as const, ...(hasIpv6 ? [[6, '::1'] as const] : [])])(
    'are complete, in order and with their source over IPv%d',
    async (family, local) => {
      if (libc === undefined) throw new Error('koffi has no binary for this machine');
      const socket = DatagramSocket.open(libc, family);
      const sender = createSocket(family === 4 ? 'udp4' : 'udp6');
      try {
        socket.bindTo(addressBytes(address(local)), 0, 'binding');
        const batch = new DatagramBatch(libc, family);
        expect(batch.receive(socket.fd)).toBe(0);
        const sent = Array.from({ length: receiveBatch + 8 }, (_, i) => Buffer.alloc(i === 3 ? 300 : i, i));
        for (const payload of sent) {
          await new Promise<void>((resolve, reject) => {
            sender.send(payload, socket.port(), local, (error) => (error === null ? resolve() : reject(error)));
          });
        }
        await sleep(10);
        const received: Uint8Array[] = [];
        for (const expected of [receiveBatch, 8, 0]) {
          const count = batch.receive(socket.fd);
          expect(count).toBe(expected);
          for (let i = 0; i < count; i++) {
            expect(batch.source(i)).toBe(local);
            received.push(Uint8Array.from(batch.payload(i)));
          }
        }
        expect(received.map(({ length }) => length)).toEqual(sent.map(({ length }) => Math.min(length, 256)));
        for (const [i, payload] of received.entries()) expect(payload.every((octet) => octet === i)).toBe(true);
      } finally {
        socket.close();
        sender.close();
      }
    },
  );
});
