import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ElementList, PackedSet } from '../../src/dataplane/ruleset/element-list.ts';
import { elementFromText } from '../support/commands/element-from-text.ts';
import { keyText } from '../../src/dataplane/ruleset/element-text.ts';
import type { Element } from '../../src/dataplane/ruleset/element.ts';
import type { MonitorEvents, NftExecutor, TableChange, TablePart, Transaction } from '../../src/dataplane/nftables/executor.ts';
import { markerChain, type SetName } from '../../src/dataplane/ruleset/layout.ts';
import { maximumListedBackends, maximumListedElements } from '../../src/dataplane/limits.ts';
import { netlinkExecutor } from '../../src/dataplane/nftables/netlink/netlink-executor.ts';
import { nftCommand } from '../support/commands/nft-command.ts';
import { skeleton } from '../../src/dataplane/ruleset/skeleton.ts';
import { turnChains } from '../../src/dataplane/ruleset/turns.ts';
import { systemClock } from '../../src/system/clock.ts';
import { netfilterProtocol, openNetlink } from '../../src/system/netlink/socket.ts';
import { elementTexts, randomElements } from '../unit/dataplane/nftables/netlink/random-elements.ts';
import { until } from './until.ts';

/** Two empty network namespaces. Tests do the same in both: in one by netlink, in the other by the nft command. */
const names = { netlink: `hn-${process.pid}-netlink`, command: `hn-${process.pid}-command` } as const;
type Name = keyof typeof names;
const families = [4, 6] as const;
const bit = 14;

const inside = (name: Name, ...words: string[]): string =>
  execFileSync('ip', ['netns', 'exec', names[name], ...words], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 1 << 28,
  });

function byNetlink(name: Name, own = false): NftExecutor {
  return netlinkExecutor(systemClock, { own, networkNamespace: `/run/netns/${names[name]}` });
}
const byCommand = (name: Name): NftExecutor => nftCommand(['ip', 'netns', 'exec', names[name]]);
const executors: Record<Name, NftExecutor> = {} as Record<Name, NftExecutor>;

let revision = 0;
interface Work {
  readonly create?: Transaction['create'];
  readonly deletes?: readonly Element[];
  readonly adds?: readonly Element[];
}
function change({ create, deletes = [], adds = [] }: Work): Transaction {
  if (create !== undefined) turnChainNames.clear();
  return {
    create: create ?? [],
    deletes: ElementList.of(deletes),
    adds: ElementList.of(adds),
    parts: { remove: partsOf(deletes), add: [...partsOf(adds), ...newTurnChains(adds)] },
    revision: { remove: revision === 0 || create !== undefined ? [] : [revision], add: ++revision },
  };
}

/** The chains of turns that the tables have. */
const turnChainNames = new Set<string>();

/** Returns the chains to which these elements lead and that no table has. They stay when the elements go. */
function newTurnChains(elements: readonly Element[]): TablePart[] {
  return families.flatMap((family) => {
    const all = turnChains(ElementList.of(elements), family) ?? new Map();
    const chains = new Map([...all].filter(([name]) => !turnChainNames.has(`${family} ${name}`)));
    for (const name of chains.keys()) turnChainNames.add(`${family} ${name}`);
    return chains.size === 0 ? [] : [{ family, chains }];
  });
}
/** Returns the chains of the parts among these elements. */
const partsOf = (elements: readonly Element[]): TablePart[] =>
  elements.flatMap(({ family, set, key }) => {
    const chains = set === 'parts' ? skeleton(family, bit).parts.get(key) : undefined;
    return chains === undefined ? [] : [{ family, chains }];
  });
const tables = families.map((family) => skeleton(family, bit));
const pods = { names: ['cni0', 'cali*', 'abcdefghijklmno'], masqueraded: false };

async function both(transaction: Transaction): Promise<void> {
  for (const name of ['netlink', 'command'] as const) await executors[name].run(transaction);
}

/** Returns the ruleset object by object, with elements sorted. The type of one map differs, see set-declaration.ts. */
function listing(name: Name): unknown[] {
  const { nftables } = JSON.parse(inside(name, 'nft', '-j', 'list', 'ruleset')) as { nftables: Record<string, Record<string, unknown>>[] };
  return nftables.slice(1).map((object) => {
    const map = object['map'] ?? object['set'];
    if (map === undefined) return object;
    if (map['name'] === 'affinity' && map['family'] === 'ip6') delete map['type'];
    if (Array.isArray(map['elem'])) map['elem'] = map['elem'].map((element) => JSON.stringify(element)).sort();
    return object;
  });
}

/** Returns true if a socket of NETLINK_NETFILTER (12) in the lines of /proc/net/netlink has joined a group. */
function listensToNetfilter(listing: string): boolean {
  const sockets = listing.split('\n').map((line) => line.trim().split(/\s+/));
  return sockets.some(([, protocol, , groups]) => protocol === '12' && groups !== '00000000');
}

const texts = (elements: Iterable<Element> | undefined): string[] => elementTexts(elements ?? []);

beforeAll(() => {
  for (const name of Object.values(names)) execFileSync('ip', ['netns', 'add', name]);
  executors.netlink = byNetlink('netlink');
  executors.command = byCommand('command');
});

afterAll(() => {
  for (const name of Object.values(names)) execFileSync('ip', ['netns', 'del', name]);
});

beforeEach(async () => {
  await both(change({ create: tables }));
});

describe('rules written by netlink and by the nft command', () => {
  test('the skeleton has the same listing', () => {
    expect(listing('netlink')).toEqual(listing('command'));
    expect(inside('netlink', 'nft', 'list', 'ruleset')).toContain(markerChain(bit));
  });

  test('the skeleton with pod interfaces has the same listing, and it differs from the one without', async () => {
    await both(change({ create: families.map((family) => skeleton(family, bit, pods)) }));
    expect(listing('netlink')).toEqual(listing('command'));
    expect(inside('netlink', 'nft', 'list', 'ruleset')).toContain(markerChain(bit, pods));
    expect(inside('netlink', 'nft', 'list', 'ruleset')).toContain('iifname "cali*" return');
    expect(await executors.netlink.readTable(skeleton(4, bit))).toMatchObject({ intact: false });
  });

  test('elements of every set have the same listing after adds, changes and deletes', async () => {
    const elements = families.flatMap((family) => randomElements(family, 60));
    await both(change({ adds: elements }));
    expect(listing('netlink')).toEqual(listing('command'));
    const deletes = elements.filter((_, index) => index % 3 === 0);
    const adds = deletes.flatMap((element, index) => {
      const other = elements.find(({ family, set, value }) => family === element.family && set === element.set && value !== element.value);
      return index % 2 === 0 && element.value !== undefined && other?.value !== undefined ? [{ ...element, value: other.value }] : [];
    });
    expect(adds.length).toBeGreaterThan(50);
    await both(change({ deletes, adds }));
    expect(listing('netlink')).toEqual(listing('command'));
  });

  test('adjacent prefixes up to the last address have the same listing', async () => {
    const prefixes = { 4: ['0.0.0.0/2', '64.0.0.0/3', '96.0.0.0/4', '128.0.0.0/1'], 6: ['100::/8', '200::/7', '8000::/1'] };
    const adds = families.flatMap((family) => prefixes[family].map((key) => elementFromText(family, 'pod_prefixes', key)));
    await both(change({ adds }));
    expect(listing('netlink')).toEqual(listing('command'));
    for (const table of tables)
      expect(texts((await executors.netlink.readTable(table))?.elements)).toEqual(
        texts(adds.filter(({ family }) => family === table.family)),
      );
    await both(change({ deletes: adds }));
    expect(listing('netlink')).toEqual(listing('command'));
  });

  test('both read elements as they were written, and the command reads those that netlink wrote', async () => {
    const elements = families.flatMap((family) => randomElements(family, 200, 7));
    await both(change({ adds: elements }));
    const ways = [
      [byNetlink, 'netlink'],
      [byCommand, 'netlink'],
      [byCommand, 'command'],
    ] as const;
    for (const [by, name] of ways) {
      for (const table of tables) {
        const read = await by(name).readTable(table);
        expect(read?.intact).toBe(true);
        expect(texts(read?.elements)).toEqual(texts(elements.filter(({ family }) => family === table.family)));
        expect(read?.revisions).toEqual(table.family === 4 ? [revision] : []);
      }
    }
  });

  test('netlink writes thousands of elements in one transaction', async () => {
    const elements = families.flatMap((family) => randomElements(family, 500, 3));
    await executors.netlink.run(change({ adds: elements }));
    const read = await executors.netlink.readTable(skeleton(4, bit));
    expect(texts(read?.elements)).toEqual(texts(elements.filter(({ family }) => family === 4)));
  });
});

describe.each(['netlink', 'command'] as const)('by %s', (name) => {
  const frontend = (host: number, value = '1:1'): Element => elementFromText(4, 'frontends', `192.0.2.${host} . tcp . 80`, value);

  test('a transaction that the kernel refuses changes nothing', async () => {
    await executors[name].run(change({ adds: [frontend(1)] }));
    const refused = executors[name].run(change({ adds: [frontend(2), frontend(1, '2:2')] }));
    await expect(refused).rejects.toMatchObject({
      name: 'DataplaneError',
      code: 'failed',
      message: expect.stringMatching(/file (already )?exists/i) as string,
    });
    revision--;
    expect(texts((await executors[name].readTable(skeleton(4, bit)))?.elements)).toEqual(texts([frontend(1)]));
  });

  test('a missing table and a table changed by another program are recognised', async () => {
    inside(name, 'nft', 'add', 'chain', 'ip', 'herald', 'foreign');
    expect(await executors[name].readTable(skeleton(4, bit))).toMatchObject({ intact: false });
    inside(name, 'nft', 'delete', 'table', 'ip', 'herald');
    expect(await executors[name].readTable(skeleton(4, bit))).toBeUndefined();
    await executors[name].removeTables();
    await executors[name].removeTables();
    expect(inside(name, 'nft', 'list', 'ruleset')).toBe('');
  });

  test('the monitor reports changes with their revisions, and none of other tables', async () => {
    const changes: TableChange[] = [];
    const problems: string[] = [];
    const events: MonitorEvents = {
      onChange: (seen) => changes.push(seen),
      onLoss: (what) => problems.push(what),
      onEnd: (why) => problems.push(why),
    };
    const monitor = executors[name].monitor(events);
    const reported = (count: number): Promise<true> =>
      until(`${count} changes are reported`, (note) => note({ changes, problems }).changes.length === count);
    await until('the monitor listens', (note) => listensToNetfilter(note(inside(name, 'cat', '/proc/net/netlink'))));
    await executors[name].run(change({ adds: [frontend(9)] }));
    const own = revision;
    await reported(1);
    inside(name, 'nft', 'add', 'table', 'ip', 'other');
    inside(name, 'nft', 'flush', 'chain', 'ip6', 'herald', 'nat_prerouting');
    await reported(2);
    expect(changes.map(({ revisions }) => revisions)).toEqual([[own], []]);
    expect(problems).toEqual([]);
    await monitor.stop();
    inside(name, 'nft', 'delete', 'table', 'ip', 'other');
  });
});

describe('netlink only', () => {
  const rule = (chain: string): string => skeleton(4, bit).chains.get(chain)?.rules[0] ?? '';

  /** Replaces the first rule of a chain. */
  function replaceRule(chain: string, text: string): void {
    // The first match is the handle of the chain, the second that of its first rule.
    const [, handle] = inside('netlink', 'nft', '-a', 'list', 'chain', 'ip', 'herald', chain).matchAll(/ # handle (\d+)$/gm);
    inside('netlink', 'nft', `replace rule ip herald ${chain} handle ${handle?.[1]} ${text}`);
  }

  test.each<[string, () => unknown]>([
    ['a rule', () => replaceRule('refuse', 'accept')],
    ['the constant of a rule', () => replaceRule('nat_postrouting', rule('nat_postrouting').replaceAll('0x4000', '0x8000'))],
    ['the set of a rule', () => replaceRule('nat_prerouting', rule('nat_prerouting').replace('@frontends', '@frontends_local'))],
    ['the members of a set without a name', () => replaceRule('deliver', rule('deliver').replace('sctp', 'dccp'))],
    ['the policy of a chain', () => inside('netlink', 'nft', 'chain ip herald filter_forward { policy drop ; }')],
    [
      'a verdict',
      () => inside('netlink', 'nft', 'delete element ip herald remainders { 5:0 } ; add element ip herald remainders { 5:0 : drop }'),
    ],
  ])('a change of %s by another program is found, although the number of objects is the same', async (_, spoil) => {
    const [table] = tables;
    if (table === undefined) throw new Error('no table');
    expect(await executors.netlink.readTable(table)).toMatchObject({ intact: true });
    spoil();
    expect(await executors.netlink.readTable(table)).toMatchObject({ intact: false });
  });

  test('the error names the faulty element among thousands, and its set', async () => {
    const elements = randomElements(6, 300, 5).filter(({ set }) => !set.includes('prefixes') && set !== 'allowed_sources');
    const victim = elements.find(({ set }, index) => set === 'hairpins' && index > 1_000);
    if (victim === undefined) throw new Error('no victim');
    await executors.netlink.run(change({ adds: elements }));
    await executors.netlink.run(change({ deletes: [victim] }));
    const refused = executors.netlink.run(change({ deletes: elements }));
    await expect(refused).rejects.toThrow(`element ${keyText(victim)} of ip6 herald hairpins: no such file or directory`);
  });

  describe('sets too large to list', () => {
    const octets = (value: number): string => String.fromCharCode(value >> 16, (value >> 8) & 255, value & 255);
    /** Returns elements whose first address has this number. */
    const numbered = (first: Element, from: number, to: number): Element[] =>
      Array.from({ length: to - from }, (_, index) => ({ ...first, key: first.key[0] + octets(from + index) + first.key.slice(4) }));
    const readSet = async (set: SetName, wanted: readonly Element[]): Promise<PackedSet> => {
      const listing = await executors.netlink.readTable(skeleton(4, bit), async () => ElementList.of(wanted));
      return listing?.elements.packed(4, set) ?? new PackedSet(4, set);
    };
    const packed = (elements: readonly Element[]): PackedSet => {
      const [{ set } = { set: 'backends' as const }] = elements;
      return ElementList.of(elements).packed(4, set) ?? new PackedSet(4, set);
    };
    /** Returns the records in order, as one string: vitest would print a list of them all. */
    const records = (set: PackedSet): string =>
      Array.from({ length: set.length }, (_, index) => set.at(index))
        .map(({ key, value = '' }) => key + value)
        .sort()
        .join();
    /** Reads until the kernel has resized its hash table. A listing meanwhile has some elements twice and misses others. */
    async function expectListed(wanted: readonly Element[], there: readonly Element[]): Promise<void> {
      const [{ set } = { set: 'backends' as const }] = there;
      const expected = records(packed(there));
      await until('all elements are listed once', async () => records(await readSet(set, wanted)) === expected);
    }

    test('frontends are read by asking for the wanted ones, and listed when there are others', async () => {
      const first = elementFromText(4, 'frontends', '10.0.0.0 . tcp . 80', '1:1');
      const elements = numbered(first, 0, maximumListedElements + 5);
      await executors.netlink.run(change({ adds: elements }));
      // The kernel lists elements in its own order.
      expect((await readSet('frontends', elements)).equals(packed(elements))).toBe(true);
      const more = [...numbered(first, 900_000, 900_001), ...elements, ...numbered(first, 900_001, 900_002)];
      expect((await readSet('frontends', more)).length).toBe(elements.length);
      await expectListed(elements.slice(7), elements);
    });

    test('backends are confirmed: missing ones are added, other values and other elements are found', async () => {
      const first = elementFromText(4, 'backends', '10.0.0.0 . tcp . 80 . 0:0', '10.0.0.1 . 80');
      const elements = numbered(first, 0, maximumListedBackends + 5);
      await executors.netlink.run(change({ adds: elements }));
      const generation = await executors.netlink.generation?.();
      expect((await readSet('backends', elements)).equals(packed(elements))).toBe(true);
      expect(await executors.netlink.generation?.()).toBe(generation);

      const other = elementFromText(4, 'backends', '10.0.0.0 . tcp . 80 . 0:0', '10.0.0.2 . 80').value ?? '';
      const wanted = elements.map((element, index) => (index % 5_000 === 17 ? { ...element, value: other } : element));
      expect(records(await readSet('backends', wanted)) === records(packed(elements))).toBe(true);
      expect(await executors.netlink.generation?.()).toBe(generation);

      const complete = [...elements, ...numbered(first, 900_000, 900_002)];
      expect((await readSet('backends', complete)).equals(packed(complete))).toBe(true);
      expect(await executors.netlink.generation?.()).not.toBe(generation);
      await expectListed(elements.slice(7), complete);
    });
  });

  test('a change fails with code permission when CAP_NET_ADMIN is missing', () => {
    const program = `
      const { netlinkExecutor } = await import(${JSON.stringify(new URL('../../src/dataplane/nftables/netlink/netlink-executor.ts', import.meta.url).href)});
      const { ElementList } = await import(${JSON.stringify(new URL('../../src/dataplane/ruleset/element-list.ts', import.meta.url).href)});
      const { systemClock } = await import(${JSON.stringify(new URL('../../src/system/clock.ts', import.meta.url).href)});
      const executor = netlinkExecutor(systemClock, { own: true });
      await executor.run({ create: [], deletes: new ElementList(), adds: new ElementList(), parts: { remove: [], add: [] }, revision: { remove: [], add: 1 } }).catch((error) => console.log(error.name, error.code));
      process.exit(0);`;
    // Only the capability is removed, because another user could not read these files.
    const words = ['setpriv', '--bounding-set=-net_admin', process.execPath, '--input-type=module', '-e', program];
    expect(inside('netlink', ...words)).toBe('DataplaneError permission\n');
  });

  test('a socket that overflows reports the loss', async () => {
    const socket = openNetlink({
      protocol: netfilterProtocol,
      groups: [7],
      networkNamespace: `/run/netns/${names.netlink}`,
      receiveBytes: 4_096,
    });
    if (socket === undefined) throw new Error('no socket');
    await executors.netlink.run(change({ adds: randomElements(4, 200, 9) }));
    const read = (): number => {
      let datagrams = 0;
      while (socket.receive() !== undefined) datagrams++;
      return datagrams;
    };
    expect(read).toThrow(expect.objectContaining({ code: 'ENOBUFS' }) as Error);
    socket.close();
  });
});

describe('tables that Herald owns (Linux 6.9)', () => {
  const [table] = tables;
  const nft = (...words: string[]): string => {
    try {
      return inside('netlink', 'nft', ...words);
    } catch {
      return 'refused';
    }
  };
  const element = elementFromText(4, 'cluster_ips', '10.0.0.7');

  test('other programs cannot change owned tables, and the next process adopts them', async () => {
    await executors.netlink.removeTables();
    const first = byNetlink('netlink', true);
    await first.run(change({ create: tables, adds: [element] }));
    expect(nft('delete', 'table', 'ip', 'herald')).toBe('refused');
    expect(nft('flush', 'chain', 'ip', 'herald', 'services')).toBe('refused');
    nft('flush', 'ruleset');
    expect(texts((await first.readTable(skeleton(4, bit)))?.elements)).toEqual(texts([element]));

    const second = byNetlink('netlink', true);
    await expect(second.readTable(skeleton(4, bit))).rejects.toMatchObject({ code: 'permission' });
    first.close();
    // The tables have no owner now. Any program may change them.
    expect(texts((await second.readTable(skeleton(4, bit)))?.elements)).toEqual(texts([element]));
    expect((await second.readTable(skeleton(6, bit)))?.intact).toBe(true);
    expect(nft('delete', 'table', 'ip6', 'herald')).toBe('refused');
    await second.run(change({ deletes: [element] }));
    await second.removeTables();
    second.close();
    expect(inside('netlink', 'nft', 'list', 'ruleset')).toBe('');
  });

  test('tables that were created without an owner are used as they are', async () => {
    await executors.netlink.run(change({ adds: [element] }));
    const owner = byNetlink('netlink', true);
    expect(texts((await owner.readTable(table ?? skeleton(4, bit)))?.elements)).toEqual(texts([element]));
    await owner.run(change({ deletes: [element] }));
    expect(nft('delete', 'table', 'ip6', 'herald')).toBe('');
    owner.close();
  });
});
