import { describe, expect, it } from 'vitest';
import { listHostFilters, listHostNats } from '../../../../src/dataplane/host/filter-commands.ts';

const chain = (type: string, hook: string, prio: number) => ({
  chain: { family: 'inet', table: 'fw', name: 'entry', type, hook, prio, policy: 'accept' },
});

/** Runs in place of nft: it lists one base chain, and fails to list its rules with `complaint`. */
const failing = (base: object, complaint: string): readonly string[] => [
  'sh',
  '-c',
  `[ "$4" = chains ] && echo '${JSON.stringify({ nftables: [base] })}' && exit; echo '${complaint}' >&2; exit 1`,
  'nft',
];
const noLegacyTables = async () => [];

describe('a chain that nft cannot list', () => {
  const filter = chain('filter', 'forward', 0);
  const translation = chain('nat', 'prerouting', -150);

  it('is empty when it was removed meanwhile', async () => {
    const removed = 'Error: No such file or directory; did you mean table ‘x’ in family inet?';
    expect((await listHostFilters(noLegacyTables, failing(filter, removed))).map(({ chains }) => [...chains])).toEqual([[['entry', []]]]);
    expect(await listHostNats(failing(translation, removed))).toEqual([]);
  });

  it('is an error otherwise, and does not count as empty', async () => {
    const refused = 'netlink: Error: cache initialization failed: Interrupted system call';
    const sentence = `nft could not list chain entry of table inet fw: ${refused}`;
    await expect(listHostFilters(noLegacyTables, failing(filter, refused))).rejects.toThrow(sentence);
    await expect(listHostNats(failing(translation, refused))).rejects.toThrow(sentence);
  });
});
