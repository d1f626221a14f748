import { describe, expect, test } from 'vitest';
import { addressFrontend, connectionTally, type Tally } from '../../../../src/dataplane/conntrack/connection-tally.ts';
import { talliedConnections } from '../../../../src/dataplane/conntrack/limits.ts';
import { address } from '../../../../src/net/address.ts';
import type { FrontendMatch } from '../../../../src/net/frontend.ts';
import { NetlinkError } from '../../../../src/system/netlink/error.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FakeConntrack, type FlowLiteral } from './fake-conntrack.ts';

const families = [
  ['192.0.2.1', '10.244.1.1'],
  ['2001:db8::1', 'fd00:244::1'],
] as const;

async function tallied(flows: readonly FlowLiteral[], frontends?: readonly FrontendMatch[], interruptions = 0): Promise<Tally> {
  const tally = await connectionTally(new VirtualClock(), () => new FakeConntrack(flows, interruptions))(frontends, addressFrontend);
  if (typeof tally === 'string') throw new Error(tally);
  return tally;
}

const numbers = ({ connections }: Tally): unknown[] =>
  connections.map(({ frontend, active, inactive, packetsIn, packetsOut }) => [frontend, active, inactive, packetsIn, packetsOut]);

describe.each(families)('connections to %s', (at, pod) => {
  const endpoint = { address: address(pod), port: 8080 };
  const flow = (more: Partial<FlowLiteral>): FlowLiteral => ({
    protocol: 'TCP',
    destination: address(at),
    port: 80,
    secondsLeft: 100,
    endpoint,
    ...more,
  });

  test.each([
    [1, 'SYN_SENT', 0],
    [2, 'SYN_RECV', 0],
    [3, 'ESTABLISHED', 1],
    [4, 'FIN_WAIT', 0],
    [5, 'CLOSE_WAIT', 0],
    [7, 'TIME_WAIT', 0],
  ])('TCP in state %i (%s) is active: %i', async (tcpState, _, active) => {
    expect(numbers(await tallied([flow({ tcpState })]))).toEqual([[`${at} TCP 80`, active, 1 - active, 0, 0]]);
  });

  test.each([
    [2, 0],
    [4, 1],
    [5, 0],
  ])('SCTP in state %i is active: %i', async (sctpState, active) => {
    expect(numbers(await tallied([flow({ protocol: 'SCTP', sctpState })]))).toEqual([[`${at} SCTP 80`, active, 1 - active, 0, 0]]);
  });

  test('UDP is active once it was answered', async () => {
    const flows = [flow({ protocol: 'UDP' }), flow({ protocol: 'UDP', replied: false })];
    expect(numbers(await tallied(flows))).toEqual([[`${at} UDP 80`, 1, 1, 0, 0]]);
  });

  test('packets are added up for each endpoint, and an interrupted list is not counted twice', async () => {
    const other = { address: address(pod), port: 9090 };
    const flows = [flow({ packets: [7, 300] }), flow({ packets: [3, 4], tcpState: 7 }), flow({ packets: [1, 1], endpoint: other })];
    for (const interruptions of [0, 2])
      expect(numbers(await tallied(flows, undefined, interruptions))).toEqual([
        [`${at} TCP 80`, 1, 1, 10, 304],
        [`${at} TCP 80`, 1, 0, 1, 1],
      ]);
  });

  test('connections without translation, and to frontends that do not count, are left out', async () => {
    const { endpoint: _, ...untranslated } = flow({});
    expect(numbers(await tallied([untranslated]))).toEqual([]);
    const none = await connectionTally(new VirtualClock(), () => new FakeConntrack([flow({})]))(undefined, () => undefined);
    expect(none).toEqual({ connections: [], isWhole: true });
  });

  test('connections are counted once, whatever number of frontends is asked for', async () => {
    const flows = [flow({}), flow({ protocol: 'SCTP' })];
    for (const count of [1, 3, 40]) {
      const frontends = Array.from({ length: count }, (_, index): FrontendMatch[] => [
        { kind: 'address', address: address(at), protocol: 'TCP', port: 80 + index },
        { kind: 'address', address: address(at), protocol: 'SCTP', port: 80 + index },
      ]).flat();
      // The fake lists everything for each request, as kernels before 5.8 do.
      const { connections } = await tallied(flows, frontends);
      expect(connections.map(({ active }) => active)).toEqual([1, 1]);
    }
  });
});

test('the numbers are the least that there are when a list is longer than what is counted', async () => {
  const one: FlowLiteral = {
    protocol: 'UDP',
    destination: address('192.0.2.1'),
    port: 53,
    secondsLeft: 1,
    endpoint: { address: address('10.244.1.1'), port: 53 },
  };
  const { connections, isWhole } = await tallied(Array.from({ length: talliedConnections + 1 }, () => one));
  expect([connections[0]?.active, isWhole]).toEqual([talliedConnections, false]);
});

test('a kernel that refuses is a reason', async () => {
  const refuses = connectionTally(new VirtualClock(), () => {
    throw new NetlinkError('opening a socket', 1);
  });
  expect(await refuses(undefined, addressFrontend)).toMatch(/opening a socket/);
  expect(await connectionTally(new VirtualClock(), () => undefined)(undefined, addressFrontend)).toMatch(/koffi/);
});
