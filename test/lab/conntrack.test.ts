import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { defined } from '../../src/lang/defined.ts';
import type { ConntrackCleaner, Flow, StaleFlows } from '../../src/dataplane/conntrack/conntrack-cleaner.ts';
import { connectionCounter } from '../../src/dataplane/conntrack/connection-count.ts';
import { conntrackCommand } from '../support/commands/conntrack-command.ts';
import { conntrackNetlink } from '../../src/dataplane/conntrack/conntrack-netlink.ts';
import { address, formatAddress, type Family } from '../../src/net/address.ts';
import type { Protocol } from '../../src/net/frontend.ts';
import { systemClock } from '../../src/system/clock.ts';
import { netfilterProtocol, openNetlink } from '../../src/system/netlink/socket.ts';
import { removeLeftovers } from './leftovers.ts';

/** Puts flows into the kernel's table and compares what netlink and the conntrack command make of them. */
const namespace = `hc-${process.pid}`;
const inside = (words: readonly string[], input = ''): string =>
  execFileSync('ip', ['netns', 'exec', namespace, ...words], {
    encoding: 'utf8',
    input,
    stdio: ['pipe', 'pipe', 'ignore'],
    maxBuffer: 1 << 28,
  });

const families: readonly Family[] = [4, 6];
const at = (family: Family, host: number): string => (family === 4 ? `192.0.2.${host}` : `2001:db8::${host.toString(16)}`);
const client = (family: Family): string => at(family, 200);
const node = (family: Family): string => at(family, 250);

interface FlowLiteral {
  readonly family: Family;
  readonly protocol: Protocol;
  readonly clientPort: number;
  /** The host that the client sent to, and the host that answers. They are the same if nothing was translated. */
  readonly to: number;
  readonly port: number;
  readonly from: number;
  readonly replyPort: number;
  readonly replied: boolean;
}

const state: Readonly<Record<Protocol, (replied: boolean) => string>> = {
  TCP: (replied) => `--state ${replied ? 'ESTABLISHED' : 'SYN_SENT'}`,
  UDP: () => '',
  SCTP: () => '--state ESTABLISHED --orig-vtag 1 --reply-vtag 2',
};

function insertCommand({ family, protocol, clientPort, to, port, from, replyPort, replied }: FlowLiteral): string {
  const there = `--orig-src ${client(family)} --orig-dst ${at(family, to)} --orig-port-src ${clientPort} --orig-port-dst ${port}`;
  const back = `--reply-src ${at(family, from)} --reply-dst ${from === to ? client(family) : node(family)}`;
  const ports = `--reply-port-src ${replyPort} --reply-port-dst ${clientPort}`;
  const status = replied ? ' -u SEEN_REPLY' : '';
  return `-I -p ${protocol.toLowerCase()} --timeout 1000 ${there} ${back} ${ports} ${state[protocol](replied)}${status}`;
}

/**
 * Inserts flows. The conntrack command must read them from a file: it does not read a socket, which Node gives a process as standard input.
 */
function insert(...flows: FlowLiteral[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'herald-flows-'));
  writeFileSync(join(folder, 'flows'), `${flows.map(insertCommand).join('\n')}\n`);
  inside(['conntrack', '-R', join(folder, 'flows')]);
  rmSync(folder, { recursive: true });
}

/** Formats a flow as "UDP 192.0.2.1:53 192.0.2.11:5353": the client's destination, and the answering host. */
function text({ protocol, destination, port, replySource, replyPort, replied }: Flow): string {
  return `${protocol} ${formatAddress(destination)}:${port} ${formatAddress(replySource)}:${replyPort}${replied ? '' : ' unreplied'}`;
}

async function all(cleaner: ConntrackCleaner): Promise<string[]> {
  const seen = new Set<string>();
  await cleaner.each((flow) => seen.add(text(flow)));
  return [...seen].toSorted();
}

const variousFlows = families.flatMap((family) =>
  (['UDP', 'SCTP'] as const).flatMap((protocol): FlowLiteral[] => {
    const base = { family, protocol, port: 53, replyPort: 5_353, replied: true };
    return [
      { ...base, clientPort: 1_001, to: 1, from: 11 },
      { ...base, clientPort: 1_002, to: 1, from: 12 },
      { ...base, clientPort: 1_003, to: 2, from: 11 },
      { ...base, clientPort: 1_004, to: 1, from: 11, port: 54 },
      { ...base, clientPort: 1_005, to: 1, from: 11, replyPort: 6_363 },
      { ...base, clientPort: 1_006, to: 1, from: 1, replyPort: 53, replied: protocol === 'SCTP' },
      { ...base, clientPort: 1_007, to: 1, from: 11 },
    ];
  }),
);

beforeAll(() => {
  removeLeftovers('hc');
  execFileSync('ip', ['netns', 'add', namespace]);
  // Without a rule that looks at connections, the kernel tracks none and cannot list them.
  inside(['nft', '-f', '-'], 'table inet looks { chain c { type filter hook input priority 0; ct state new counter; }; }');
});

afterAll(() => {
  execFileSync('ip', ['netns', 'del', namespace]);
});

beforeEach(() => {
  inside(['conntrack', '-F']);
});

describe.each(['netlink', 'the command'])('by %s', (transport) => {
  let cleaner: ConntrackCleaner;

  beforeAll(() => {
    cleaner =
      transport === 'netlink'
        ? conntrackNetlink(systemClock, `/run/netns/${namespace}`)
        : conntrackCommand(['ip', 'netns', 'exec', namespace]);
  });

  afterAll(() => cleaner.close());

  test('every flow of UDP and SCTP and the unreplied flows of TCP are listed', async () => {
    insert(...variousFlows);
    for (const family of families) {
      const base = { family, protocol: 'TCP', to: 1, port: 80, replyPort: 80 } as const;
      insert({ ...base, clientPort: 2_001, from: 1, replied: false }, { ...base, clientPort: 2_002, from: 1, replied: true });
    }
    const shown = families.flatMap((family) =>
      ['UDP', 'SCTP'].flatMap((protocol) => [
        `${protocol} ${at(family, 1)}:53 ${at(family, 11)}:5353`,
        `${protocol} ${at(family, 1)}:53 ${at(family, 11)}:6363`,
        `${protocol} ${at(family, 1)}:53 ${at(family, 12)}:5353`,
        `${protocol} ${at(family, 1)}:53 ${at(family, 1)}:53${protocol === 'UDP' ? ' unreplied' : ''}`,
        `${protocol} ${at(family, 1)}:54 ${at(family, 11)}:5353`,
        `${protocol} ${at(family, 2)}:53 ${at(family, 11)}:5353`,
      ]),
    );
    const tcp = families.map((family) => `TCP ${at(family, 1)}:80 ${at(family, 1)}:80 unreplied`);
    expect(await all(cleaner)).toEqual([...shown, ...tcp].toSorted());
  });

  describe.each(families)('IPv%i', (family) => {
    const stale = (protocol: Protocol, to: number | undefined, from: number, replyPort?: number): StaleFlows => ({
      protocol,
      ...(to === undefined ? {} : { destination: address(at(family, to)) }),
      port: 53,
      replySource: address(at(family, from)),
      ...defined({ replyPort }),
    });
    const v = (host: number): string => at(family, host);
    const whoAnswers = ({ to, port, from, replyPort }: FlowLiteral): string => `${v(to)}:${port} ${v(from)}:${replyPort}`;

    test.each(['UDP', 'SCTP'] as const)('%s: exactly the flows of the given kinds are deleted', async (protocol) => {
      for (const [kinds, gone] of [
        [[stale(protocol, 1, 11, 5_353)], [`${v(1)}:53 ${v(11)}:5353`]],
        [[stale(protocol, undefined, 11, 5_353)], [`${v(1)}:53 ${v(11)}:5353`, `${v(2)}:53 ${v(11)}:5353`]],
        [[stale(protocol, 1, 1)], [`${v(1)}:53 ${v(1)}:53`]],
        // Several kinds at once.
        [
          [stale(protocol, 1, 11, 6_363), stale(protocol, 1, 12, 5_353), stale(protocol, 9, 9)],
          [`${v(1)}:53 ${v(11)}:6363`, `${v(1)}:53 ${v(12)}:5353`],
        ],
        [[], []],
        [[stale(protocol, 9, 9, 9)], []],
      ] as const) {
        inside(['conntrack', '-F']);
        insert(...variousFlows);
        const before = await all(cleaner);
        const flows = variousFlows.filter((each) => each.family === family && each.protocol === protocol).map(whoAnswers);
        expect(await cleaner.delete(kinds)).toBe(flows.filter((flow) => (gone as readonly string[]).includes(flow)).length);
        expect((await all(cleaner)).length).toBe(before.length - gone.length);
        const left = new Set(await all(cleaner));
        const missing = before.filter((flow) => !left.has(flow)).map((flow) => flow.replace(' unreplied', ''));
        expect(missing).toEqual(gone.map((flow) => `${protocol} ${flow}`));
      }
    });

    test('TCP: an unreplied flow is deleted; replied and translated flows stay', async () => {
      const base = { family, protocol: 'TCP', to: 1, port: 53, replyPort: 53 } as const;
      insert(
        { ...base, clientPort: 3_001, from: 1, replied: false },
        { ...base, clientPort: 3_002, from: 1, replied: true },
        { ...base, clientPort: 3_003, from: 11, replied: false },
      );
      expect(await cleaner.delete([{ ...stale('TCP', 1, 1), unreplied: true }])).toBe(1);
      const left = inside(['conntrack', '-L', '-f', family === 4 ? 'ipv4' : 'ipv6', '-p', 'tcp']);
      expect([...left.matchAll(/sport=(300\d) dport=53/g)].map(([, port = '']) => port).toSorted()).toEqual(['3002', '3003']);
    });
  });

  test('the error says permission when the right is missing', async () => {
    const unprivileged = ['setpriv', '--bounding-set=-net_admin'];
    if (transport === 'the command') {
      const powerless = conntrackCommand(['ip', 'netns', 'exec', namespace, ...unprivileged]);
      await expect(powerless.delete([{ protocol: 'UDP', port: 53, replySource: address('192.0.2.1') }])).rejects.toMatchObject({
        code: 'permission',
      });
      return;
    }
    const module = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
    const program = `
      const { conntrackNetlink } = await import(${module('dataplane/conntrack/conntrack-netlink.ts')});
      const { systemClock } = await import(${module('system/clock.ts')});
      const { address } = await import(${module('net/address.ts')});
      const cleaner = conntrackNetlink(systemClock);
      await cleaner.delete([{ protocol: 'UDP', port: 53, replySource: address('192.0.2.1') }]).catch((error) => console.log(error.name, error.code));
      process.exit(0);`;
    expect(inside([...unprivileged, process.execPath, '--input-type=module', '-e', program])).toBe('DataplaneError permission\n');
  });
});

test('netlink deletes one kind among thousands of flows, and many kinds at once', async () => {
  const cleaner = conntrackNetlink(systemClock, `/run/netns/${namespace}`);
  const many = Array.from({ length: 6_000 }, (_, index): FlowLiteral => {
    return {
      family: 4,
      protocol: 'UDP',
      clientPort: 10_000 + index,
      to: 1,
      port: 53,
      from: 11 + (index % 60),
      replyPort: 5_353,
      replied: true,
    };
  });
  insert(...many);
  const count = async (): Promise<number> => {
    let flows = 0;
    await cleaner.each(() => flows++);
    return flows;
  };
  expect(await count()).toBe(6_000);
  const kind = (from: number): StaleFlows => {
    return { protocol: 'UDP', destination: address(at(4, 1)), port: 53, replySource: address(at(4, from)), replyPort: 5_353 };
  };
  expect(await cleaner.delete([kind(11)])).toBe(100);
  expect(await count()).toBe(5_900);
  expect(await cleaner.delete(Array.from({ length: 30 }, (_, index) => kind(12 + index)))).toBe(3_000);
  expect(await count()).toBe(2_900);
  cleaner.close();
});

describe('counting of open connections', () => {
  /**
   * Counts the connections at these frontends. `established` is the kernel's alleged timeout of an idle TCP connection in seconds. The
   * connections of these tests have 1000 s left.
   */
  const counted = (frontends: readonly string[], established = '1000'): Promise<number | undefined> =>
    connectionCounter(
      systemClock,
      async () => established,
      () => openNetlink({ protocol: netfilterProtocol, networkNamespace: `/run/netns/${namespace}` }),
    )(new Set(frontends));

  test('the count has established and answered connections at the given frontends only', async () => {
    for (const family of families) {
      const base = { family, clientPort: 3_001, to: 1, from: 11, port: 80, replyPort: 8_080, replied: true } as const;
      insert(
        { ...base, protocol: 'TCP' },
        { ...base, protocol: 'TCP', clientPort: 3_002 },
        { ...base, protocol: 'TCP', clientPort: 3_003, replied: false },
        { ...base, protocol: 'TCP', clientPort: 3_004, to: 2 },
        { ...base, protocol: 'TCP', clientPort: 3_005, port: 81 },
        { ...base, protocol: 'UDP' },
        { ...base, protocol: 'UDP', clientPort: 3_002, to: 2, from: 2, replied: false },
      );
    }
    for (const family of families) {
      const [first, second] = [at(family, 1), at(family, 2)];
      expect(await counted([`${first} TCP 80`])).toBe(2);
      expect(await counted([`${first} TCP 80`, `${first} UDP 80`, `${second} TCP 80`])).toBe(4);
      expect(await counted([`${second} UDP 80`])).toBe(0);
      expect(await counted([])).toBe(0);
    }
  });

  test('the count excludes connections without a packet for two minutes', async () => {
    insert({ family: 4, protocol: 'TCP', clientPort: 3_001, to: 1, from: 11, port: 80, replyPort: 8_080, replied: true });
    expect(await counted([`${at(4, 1)} TCP 80`], '1010')).toBe(1);
    expect(await counted([`${at(4, 1)} TCP 80`], '1200')).toBe(0);
  });
});
