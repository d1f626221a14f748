import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fieldClass, type StreamedEvent } from '../../../src/bgp/index.ts';

const root = join(import.meta.dirname, '../../..');
const readmeFile = 'src/bgp/README.md';
const readme = readFileSync(join(root, readmeFile), 'utf8');

/** Returns the cells of each row of the first table in a chapter, without the table's head. */
function table(chapter: string): string[][] {
  const [, text = ''] = readme.split(`\n## ${chapter}\n`);
  const lines = text.split('\n## ')[0]?.split('\n') ?? [];
  const start = lines.findIndex((line) => line.startsWith('|---'));
  const rows = lines.slice(start + 1);
  return rows.slice(0, rows.indexOf('')).map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()));
}

const code = (cell: string | undefined): string => cell?.replaceAll('`', '') ?? '';

test('the README lists every peer option and the effect of changing it', () => {
  expect(Object.fromEntries(table('Peer options').map(([, name, , change]) => [code(name), change]))).toEqual(fieldClass);
});

test('the README lists every event', () => {
  const types: Readonly<Record<StreamedEvent['type'], true>> = {
    state: true,
    established: true,
    down: true,
    notification: true,
    refresh: true,
    endOfRib: true,
    routes: true,
    lost: true,
  };
  expect(table('Events').map(([, type]) => code(type))).toEqual(Object.keys(types));
});

/** For each ability of the comparison our cell, and the test that shows it, or for an ability that is partial or absent the sentence that says so. */
const proofs: readonly (readonly [ability: string, cell: string, file: string, words: string])[] = [
  ['a library inside a program', 'Y', 'src/bgp/test/package.test.ts', "the README's example has ten lines and prints the output"],
  [
    'IPv6, both families in one session',
    'Y',
    'test/lab/bgp-frr.test.ts',
    'sessions over IPv4 and IPv6 announce and withdraw routes of both families',
  ],
  ['passive sessions', 'Y', 'test/lab/bgp-features.test.ts', 'the ToR connects to a passive peer'],
  ['collision detection', 'Y', 'src/bgp/test/session/colliding-connections.test.ts', 'our connection in OpenSent is closed'],
  ['revised error handling (RFC 7606)', 'Y', 'src/bgp/test/session/malformed-messages.test.ts', 'no ORIGIN'],
  [
    'graceful restart (RFC 4724)',
    'Y',
    'test/lab/bgp-features.test.ts',
    'the ToRs keep the routes and connections go on across a restart by SIGTERM',
  ],
  ['send hold timer (RFC 9687)', 'Y', 'src/bgp/test/session/session.test.ts', 'a peer that never reads again is closed'],
  ['shutdown communication (RFC 9003)', 'Y', 'test/lab/bgp-frr.test.ts', 'each end shows the shutdown message of the other'],
  ['IPv4 over IPv6 next hops (RFC 8950)', 'Y', 'test/lab/bgp-frr.test.ts', 'RFC 8950: an IPv4 route with an IPv6 next hop'],
  ['unnumbered peering', 'Y', 'test/lab/bgp-features.test.ts', 'an unnumbered session finds the ToR by its router advertisements'],
  ['large communities (RFC 8092)', 'Y', 'test/lab/bgp-frr.test.ts', 'FRR sees standard and large communities'],
  ['TCP MD5 / TTL security', 'Y / Y', 'test/lab/bgp-features.test.ts', 'a ToR without TTL security gets no session'],
  ['BFD', '[Y](../bfd/README.md)', 'test/lab/bfd.test.ts', 'both ends notice a cut link'],
  ['TCP-AO (RFC 5925)', 'p', readmeFile, 'no session with TCP-AO was tested with a router yet'],
  [
    'received routes with filters, best path',
    'Y',
    'test/peers/received-tests.ts',
    'accepted routes of both families arrive, follow other rules',
  ],
  [
    'several paths of a prefix (RFC 7911): received / sent',
    'Y / Y',
    'test/lab/bgp-frr.test.ts',
    'two paths of a prefix, each with its next hop, go to %s',
  ],
  ['peers from a range of addresses', 'Y', 'test/lab/bgp-frr-group.test.ts', 'a router beyond the maximum is refused'],
  ['BMP export (RFC 7854)', 'Y', 'test/peers/bmp-pmacct.test.ts', 'gives the received routes before and after the import rules'],
  ['VRF', 'p', readmeFile, 'no session in a real VRF was tested yet'],
  ['puts received routes into the kernel', '-', readmeFile, 'announces none to other peers and puts none into the kernel'],
];

test('our column of the comparison has a test for each Y, and a sentence of the README for the rest', () => {
  expect(table('Compared with').map(([, ability, cell]) => [ability, cell])).toEqual(proofs.map(([ability, cell]) => [ability, cell]));
  const without = proofs.filter(([, , file, words]) => !textOf(file).includes(words));
  expect(without).toEqual([]);
});

/** The text of a file with each line break as a space. */
function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8').replaceAll(/\s+/g, ' ');
}
