import { describe, expect, test } from 'vitest';
import { connectionCounter } from '../../../../src/dataplane/conntrack/connection-count.ts';
import { address } from '../../../../src/net/address.ts';
import { NetlinkError } from '../../../../src/system/netlink/error.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FakeConntrack, type FlowLiteral } from './fake-conntrack.ts';

const families = ['192.0.2.1', '2001:db8::1'];
const frontends = new Set(families.flatMap((text) => [`${text} TCP 80`, `${text} UDP 80`]));
const usual = { established: '86400', unacknowledged: '300', max_retrans: '300' };
type Settings = Partial<typeof usual>;

function tcp(at: string, secondsLeft: number, more: Partial<FlowLiteral> = {}): FlowLiteral {
  return { protocol: 'TCP', destination: address(at), port: 80, secondsLeft, ...more };
}

function counted(kernel: FakeConntrack, settings: Settings = usual): Promise<number | undefined> {
  const prefix = 'net/netfilter/nf_conntrack_tcp_timeout_';
  const read = async (path: string): Promise<string | undefined> => settings[path.replace(prefix, '') as keyof Settings];
  return connectionCounter(new VirtualClock(), read, () => kernel)(frontends);
}

describe.each(families)('active connections to %s', (at) => {
  const one = (secondsLeft: number, settings?: Settings): Promise<number | undefined> =>
    counted(new FakeConntrack([tcp(at, secondsLeft)]), settings);

  test.each([
    ['a connection with a packet just now', 86_400, 1],
    ['a connection idle for two minutes', 86_280, 1],
    ['a connection idle for longer', 86_279, 0],
    ['a transfer with unacknowledged data', 300, 1],
    ['a transfer without a reply for two minutes', 180, 1],
    ['a transfer without a reply for longer', 179, 0],
  ])('%s with %i s left', async (_, secondsLeft, count) => {
    expect(await one(secondsLeft)).toBe(count);
  });

  test('a connection counts when one of two possible timeouts makes it active', async () => {
    const settings = { ...usual, unacknowledged: '300', max_retrans: '600' };
    expect([await one(600, settings), await one(300, settings)]).toEqual([1, 1]);
    expect([await one(479, settings), await one(179, settings)]).toEqual([0, 0]);
  });

  test('a connection counts when a setting was lowered or cannot be read', async () => {
    expect(await one(80_000, { ...usual, established: '3600' })).toBe(1);
    for (const name of ['established', 'unacknowledged', 'max_retrans']) {
      expect(await one(100, Object.fromEntries(Object.entries(usual).filter(([each]) => each !== name)))).toBe(1);
    }
  });

  test('closed TCP connections and other frontends do not count, UDP counts once it was answered', async () => {
    const udp = tcp(at, 20, { protocol: 'UDP' });
    const kernel = new FakeConntrack([
      tcp(at, 86_400),
      tcp(at, 100, { tcpState: 5 }),
      tcp(at, 86_400, { port: 81 }),
      udp,
      { ...udp, replied: false },
    ]);
    expect(await counted(kernel)).toBe(2);
    expect(kernel.closed).toBe(1);
  });

  test('each connection is counted once when the list is read again', async () => {
    expect(await counted(new FakeConntrack([tcp(at, 300), tcp(at, 86_400)], 2))).toBe(2);
  });

  test('the count is undefined when the kernel lists a malformed flow', async () => {
    expect(await counted(new FakeConntrack([tcp(at, 300, { replySource: new Uint8Array(5) })]))).toBeUndefined();
  });
});

test('the count is undefined when the kernel refuses the socket or FFI is missing', async () => {
  const read = async (): Promise<undefined> => undefined;
  const refuses = connectionCounter(new VirtualClock(), read, () => {
    throw new NetlinkError('socket', 1);
  });
  expect(await refuses(frontends)).toBeUndefined();
  expect(await connectionCounter(new VirtualClock(), read, () => undefined)(frontends)).toBeUndefined();
});
