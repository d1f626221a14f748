import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listeningSockets } from '../../../src/system/listening-sockets.ts';

test('listening TCP and UDP sockets of both families are found, connected ones are not', async () => {
  const tcp = createServer();
  const udp = createSocket('udp6');
  tcp.listen(0, '127.0.0.1');
  udp.bind(0, '::1');
  await Promise.all([once(tcp, 'listening'), once(udp, 'listening')]);
  const [port, other] = [(tcp.address() as AddressInfo).port, udp.address().port];
  const found = await listeningSockets('/proc');
  expect(found).toContainEqual({ protocol: 'TCP', address: '127.0.0.1', port });
  expect(found).toContainEqual({ protocol: 'UDP', address: '0:0:0:0:0:0:0:1', port: other });
  tcp.close();
  udp.close();
});

test('reading stops after the listening TCP sockets', async () => {
  const root = await mkdtemp(join(tmpdir(), 'herald-sockets-'));
  await mkdir(join(root, 'net'));
  const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
  const line = (local: string, state: string): string =>
    `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 1`;
  await writeFile(
    join(root, 'net/tcp'),
    [head, line('00000000:7580', '0A'), line('0100007F:1F90', '01'), line('00000000:7581', '0A')].join('\n'),
  );
  await writeFile(
    join(root, 'net/udp'),
    [head, line('0700000A:7565', '07'), line('0700000A:7566', '01'), line('0700000A:7567', '07')].join('\n'),
  );
  await writeFile(join(root, 'net/tcp6'), [head, line('00000000000000000000000000000000:0050', '0A')].join('\n'));
  expect(await listeningSockets(root)).toEqual([
    { protocol: 'TCP', address: '0.0.0.0', port: 30_080 },
    { protocol: 'TCP', address: '::', port: 80 },
    { protocol: 'UDP', address: '10.0.0.7', port: 30_053 },
    { protocol: 'UDP', address: '10.0.0.7', port: 30_055 },
  ]);
  await rm(root, { recursive: true });
});
