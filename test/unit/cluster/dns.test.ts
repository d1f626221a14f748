import { Resolver } from 'node:dns/promises';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { encodeAnswer, encodeName, questionOf, recordTypes, responseCodes } from '../../cluster/cluster/dns/message.ts';
import { lookUp, type Names } from '../../cluster/cluster/dns/names.ts';

const names: Names = {
  services: [
    {
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        type: 'ClusterIP',
        clusterIPs: ['10.96.0.7', 'fd00:96::7'],
        ports: [
          { name: 'http', protocol: 'TCP', port: 80 },
          { name: 'dns', protocol: 'UDP', port: 53 },
        ],
      },
    },
    { metadata: { name: 'db', namespace: 'shop' }, spec: { type: 'ClusterIP', clusterIPs: ['None'] } },
    { metadata: { name: 'out', namespace: 'shop' }, spec: { type: 'ExternalName', externalName: 'web.shop.svc.cluster.local' } },
    { metadata: { name: 'loop', namespace: 'shop' }, spec: { type: 'ExternalName', externalName: 'loop.shop.svc.cluster.local' } },
  ],
  slices: [
    {
      metadata: { namespace: 'shop', labels: { 'kubernetes.io/service-name': 'db' } },
      ports: [{ name: 'sql', protocol: 'TCP', port: 5432 }],
      endpoints: [
        { addresses: ['10.77.1.5'], conditions: { ready: true } },
        { addresses: ['10.77.1.2'], hostname: 'db-0', conditions: { ready: true } },
        { addresses: ['10.77.1.3'], hostname: 'db-1', conditions: { ready: false } },
      ],
    },
    { metadata: { namespace: 'other', labels: { 'kubernetes.io/service-name': 'db' } }, endpoints: [{ addresses: ['10.77.9.9'] }] },
    { metadata: { namespace: 'shop' }, endpoints: null },
  ],
};
let server: Socket | undefined;

afterEach(() => {
  server?.close();
  server = undefined;
});

/** A resolver that asks the code under test over UDP. */
async function resolver(): Promise<Resolver> {
  const socket = createSocket('udp4');
  server = socket;
  socket.on('message', (query, { port, address }) => {
    const { code, records } = lookUp(names, questionOf(query));
    socket.send(encodeAnswer(query, code, records), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const asking = new Resolver();
  asking.setServers([`127.0.0.1:${socket.address().port}`]);
  return asking;
}

test('a resolver gets the ClusterIP of each family', async () => {
  const asking = await resolver();
  expect(await asking.resolve4('web.shop.svc.cluster.local')).toEqual(['10.96.0.7']);
  expect(await asking.resolve6('WEB.shop.svc.cluster.local')).toEqual(['fd00:96::7']);
});

test('a Service without ClusterIP has the addresses of its ready endpoints, also by host name', async () => {
  const asking = await resolver();
  expect(await asking.resolve4('db.shop.svc.cluster.local')).toEqual(['10.77.1.5', '10.77.1.2']);
  expect(await asking.resolve4('10-77-1-5.db.shop.svc.cluster.local')).toEqual(['10.77.1.5']);
  expect(await asking.resolve4('db-0.db.shop.svc.cluster.local')).toEqual(['10.77.1.2']);
  await expect(asking.resolve4('db-1.db.shop.svc.cluster.local')).rejects.toMatchObject({ code: 'ENODATA' });
});

test('a named port of a Service has a record of type SRV', async () => {
  const asking = await resolver();
  expect(await asking.resolveSrv('_http._tcp.web.shop.svc.cluster.local')).toMatchObject([
    { name: 'web.shop.svc.cluster.local', port: 80, priority: 0, weight: 0 },
  ]);
  const targets = await asking.resolveSrv('_sql._tcp.db.shop.svc.cluster.local');
  expect(targets.map(({ name, port }) => `${name}:${port}`)).toEqual([
    '10-77-1-5.db.shop.svc.cluster.local:5432',
    'db-0.db.shop.svc.cluster.local:5432',
  ]);
  await expect(asking.resolveSrv('_http._udp.web.shop.svc.cluster.local')).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test('a ClusterIP and the address of an endpoint with a host name have a reverse name', async () => {
  const asking = await resolver();
  expect(await asking.reverse('10.96.0.7')).toEqual(['web.shop.svc.cluster.local']);
  expect(await asking.reverse('fd00:96::7')).toEqual(['web.shop.svc.cluster.local']);
  expect(await asking.reverse('10.77.1.2')).toEqual(['db-0.db.shop.svc.cluster.local']);
  await expect(asking.reverse('10.77.1.5')).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test('a Service of type ExternalName leads to its target', async () => {
  const asking = await resolver();
  expect(await asking.resolve4('out.shop.svc.cluster.local')).toEqual(['10.96.0.7']);
});

test('aliases in a circle end', () => {
  const { code, records } = lookUp(names, { name: 'loop.shop.svc.cluster.local', type: recordTypes.a });
  expect(code).toBe(responseCodes.noError);
  expect(records.length).toBeLessThan(10);
});

test.each(['nothing.shop.svc.cluster.local', 'web.svc.cluster.local', 'example.org', 'x.web.shop.svc.cluster.local', 'cluster.local'])(
  'the name %s does not exist',
  async (name) => {
    const asking = await resolver();
    await expect(asking.resolve4(name)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  },
);

test('a message without a whole question is refused', () => {
  expect(() => questionOf(Buffer.from([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 9, 0x77]))).toThrow(RangeError);
});

test('a name is encoded as labels with lengths', () => {
  expect(encodeName('web.shop.').toString('hex')).toBe('037765620473686f7000');
});
