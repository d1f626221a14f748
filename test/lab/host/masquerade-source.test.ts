import { afterEach, expect, test } from 'vitest';
import { until } from '../until.ts';
import { labWithClientBackend, webUrls } from './client-backend.ts';
import { nodeAddresses, type TwoNodes } from './two-nodes.ts';

/** Answers with the source of the connection, as the backend sees it. */
const server = "require('node:http').createServer((request, reply) => reply.end(request.socket.remoteAddress.replace('::ffff:', '')))";

let lab: TwoNodes;

afterEach(async () => {
  await lab?.stop();
});

test('masqueraded packets have the address of the Node where a program has put a moving address before it', async () => {
  lab = await labWithClientBackend(server);
  // As keepalived and kube-vip: a single address, of IPv6 one that is not to be a source. It stands first when the network is set up later.
  const moving = [
    ['10.71.1.100/32', '10.71.1.1/24'],
    ['fd71:1::100/128', 'fd71:1::1/64'],
  ] as const;
  for (const [address, own] of moving) {
    const isV6 = own.includes(':');
    await lab.exec('node1', ['ip', 'address', 'del', own, 'dev', 'uplink']);
    await lab.exec('node1', ['ip', 'address', 'add', address, 'dev', 'uplink', ...(isV6 ? ['nodad', 'preferred_lft', '0'] : [])]);
    await lab.exec('node1', ['ip', 'address', 'add', own, 'dev', 'uplink', ...(isV6 ? ['nodad'] : [])]);
  }
  await lab.startAgent('node1');
  for (const url of webUrls) await until(`${url} is answered`, async (note) => note((await lab.get(url))?.status) === 200);
  const seen: (string | undefined)[] = [];
  for (const url of webUrls) seen.push((await lab.get(url))?.body);
  expect(seen).toEqual(Object.values(nodeAddresses.node1));
});
