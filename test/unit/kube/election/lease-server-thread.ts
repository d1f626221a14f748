import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort } from 'node:worker_threads';
import type { Write } from '../../../../src/kube/client/client.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import { FakeLeaseServer } from './fake-lease-server.ts';

/** Serves one Lease by HTTP in a thread of its own, so that it answers while the main thread does not run. It sends its port, and each write. */
const leases = new FakeLeaseServer();
const server = createServer((request, response) => {
  if (request.url?.startsWith('/refuse') === true) {
    response.writeHead(403, { 'Content-Type': 'application/json' }).end(JSON.stringify({ kind: 'Status', message: 'no', code: 403 }));
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const text = Buffer.concat(chunks).toString('utf8');
    try {
      const answer =
        text === '' ? leases.read() : leases.write({ method: request.method as Write['method'], path: '', body: JSON.parse(text) });
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      if (text !== '') parentPort?.postMessage({ written: Date.now(), spec: answer['spec'] });
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
    } catch (error) {
      const status = error instanceof KubeError ? (error.status ?? 500) : 500;
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ kind: 'Status', message: '', code: status }));
    }
  });
});
server.listen(0, '127.0.0.1', () => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage({ port: (server.address() as AddressInfo).port });
});
