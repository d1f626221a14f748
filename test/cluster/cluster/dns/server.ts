/**
 * `node server.ts KUBECONFIG ADDRESS...` answers DNS on port 53 of these addresses, UDP and TCP, in place of CoreDNS. It reads Services and
 * EndpointSlices from the API server, at most twice a second.
 */
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import process from 'node:process';
import { encodeAnswer, questionOf, responseCodes } from './message.ts';
import { lookUp, type Names, type ServiceObject, type SliceObject } from './names.ts';

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string } }[];
  readonly users: readonly { readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string } }[];
}

/** Milliseconds for which an answer of the API server is used. */
const freshMs = 500;

const [kubeconfig = '', ...listenAddresses] = process.argv.slice(2);
const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
const [cluster, user] = [clusters[0]?.cluster, users[0]?.user];
const decode = (data = ''): Buffer => Buffer.from(data, 'base64');
const credentials = {
  ca: decode(cluster?.['certificate-authority-data']),
  cert: decode(user?.['client-certificate-data']),
  key: decode(user?.['client-key-data']),
};
let known: { readonly at: number; readonly names: Promise<Names> } | undefined;

for (const address of listenAddresses) {
  const udp = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  udp.on('message', (query, { port, address: from }) => {
    void respond(query, (response) => udp.send(response, port, from));
  });
  await new Promise<void>((resolve) => udp.bind(53, address, resolve));
  const tcp = createServer((socket) => {
    let received: Buffer = Buffer.alloc(0);
    socket.on('error', () => socket.destroy());
    socket.on('data', (data) => {
      received = Buffer.concat([received, data]);
      // Each message has its length in two octets in front of it (RFC 1035 4.2.2).
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0);
        const query = received.subarray(2, end);
        received = received.subarray(end);
        void respond(query, (response) => socket.write(Buffer.concat([Buffer.of(response.length >> 8, response.length & 0xff), response])));
      }
    });
  });
  await new Promise<void>((resolve) => tcp.listen(53, address, resolve));
}
process.stdout.write('ready\n');

/** Sends the answer to a query, and nothing for another message. */
async function respond(query: Buffer, send: (response: Buffer) => void): Promise<void> {
  const response = await answer(query);
  if (response !== undefined) send(response);
}

/** Returns undefined for a message that is not a query. */
async function answer(query: Buffer): Promise<Buffer | undefined> {
  try {
    const question = questionOf(query);
    try {
      const { code, records } = lookUp(await names(), question);
      return encodeAnswer(query, code, records);
    } catch (error) {
      process.stderr.write(`${question.name}: ${String(error)}\n`);
      return encodeAnswer(query, responseCodes.serverFailure, []);
    }
  } catch {
    return undefined;
  }
}

function names(): Promise<Names> {
  if (known === undefined || Date.now() - known.at > freshMs) known = { at: Date.now(), names: read() };
  return known.names;
}

async function read(): Promise<Names> {
  const [services, slices] = await Promise.all([
    list<ServiceObject>('/api/v1/services'),
    list<SliceObject>('/apis/discovery.k8s.io/v1/endpointslices'),
  ]);
  return { services, slices };
}

async function list<T>(path: string): Promise<readonly T[]> {
  const body = await new Promise<string>((resolve, reject) => {
    const outgoing = request(new URL(path, cluster?.server), { ...credentials, timeout: 5000 }, (response) => {
      text(response).then(resolve, reject);
    });
    outgoing.once('timeout', () => outgoing.destroy(new Error('the API server does not answer')));
    outgoing.once('error', reject);
    outgoing.end();
  });
  return (JSON.parse(body) as { items: readonly T[] }).items;
}
