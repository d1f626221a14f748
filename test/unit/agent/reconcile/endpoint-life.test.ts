import { afterEach, describe, expect, test } from 'vitest';
import { formatAddress } from '../../../../src/net/address.ts';
import { config, node, service, slice } from '../../decisions/fixtures.ts';
import { basics, testbed, type Testbed } from '../testbed.ts';

/** The actions of a node while its last endpoint starts, terminates and is deleted. */
let bed: Testbed | undefined;

afterEach(async () => {
  await bed?.agent.stop('the test is over');
  bed = undefined;
});

const gracefulShutdown = { kind: 'standard', value: 0xffff_0000 };
const both = [
  { ip: '192.0.2.1', family: 4, here: '10.1.0.1', there: '10.1.0.2' },
  { ip: '2001:db8:1::1', family: 6, here: 'fd01::1', there: 'fd01::2' },
] as const;

describe.each(both)('IPv$family', ({ ip, family, here, there }) => {
  const web = (policy: 'Cluster' | 'Local') =>
    service({ name: 'a', assigned: [ip], clusterIPs: [family === 4 ? '10.96.0.1' : 'fd96::1'], externalTrafficPolicy: policy });
  const endpoints = (...list: readonly string[]) => slice({ service: 'a', family, endpoints: list, ports: ['8080'] });
  const start = async (...objects: Parameters<typeof testbed>[0]): Promise<Testbed> => {
    bed = testbed([...basics, node({ name: 'there' }), ...objects, config({ drainSeconds: 10 })]);
    await bed.agent.start();
    await bed.settle();
    bed.takeLog();
    return bed;
  };
  const local = (bed: Testbed): string[] | undefined =>
    bed.dataplane.kernel.get(`${ip} TCP 80`)?.frontend.localBackends.map(({ address }) => formatAddress(address));
  const policy = (bed: Testbed): string | undefined => bed.dataplane.kernel.get(`${ip} TCP 80`)?.frontend.policy;
  const route = `${ip}/${family === 4 ? 32 : 128}`;
  const talk = (bed: Testbed): string[] => bed.takeLog().filter((line) => line.includes(ip));

  test('a terminating last endpoint makes the node the last resort; once it is gone, route and then rules go', async () => {
    const bed = await start(web('Local'), endpoints(`${here}@n1`, `${there}@there`));
    bed.source.put(endpoints(`${here}@n1 draining`, `${there}@there`));
    await bed.settle();
    expect(talk(bed)).toEqual([`+${ip} TCP 80`]);
    expect(bed.peers.last.get(`${route} to tor1`)).toMatchObject({ communities: [gracefulShutdown], localPref: 0, asPathPrepend: 4 });
    expect(local(bed)).toEqual([here]);
    bed.source.put(endpoints(`${there}@there`));
    await bed.settle();
    expect(talk(bed)).toEqual([`withdraw ${route} to tor1`, `+${ip} TCP 80`]);
    expect(local(bed)).toEqual([]);
  });

  test('a change to policy Local withdraws the route and keeps forwarding for drainSeconds', async () => {
    const bed = await start(web('Cluster'), endpoints(`${there}@there`));
    bed.source.put(web('Local'));
    await bed.settle();
    expect(talk(bed)[0]).toBe(`withdraw ${route} to tor1`);
    expect(policy(bed)).toBe('Cluster');
    await bed.advance(9_999);
    expect(policy(bed)).toBe('Cluster');
    await bed.advance(1);
    expect(policy(bed)).toBe('Local');
  });
});
