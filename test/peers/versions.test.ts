import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../lab/command.ts';
import { hostRoot, inRoot, trixieRoot, type Root } from './root.ts';
import { isFullTier } from './tier.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/reference/support.md'), 'utf8');
const release = /^VERSION_CODENAME=(.+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1];

/** The rows of docs/reference/support.md about daemons of Debian, and their packages. */
const rows: readonly (readonly [row: string, release: string, root: Root, name: string])[] = [
  ['FRR of Debian bookworm', 'bookworm', hostRoot, 'frr'],
  ['BIRD 2 of Debian bookworm', 'bookworm', hostRoot, 'bird2'],
  ['GoBGP of Debian bookworm', 'bookworm', hostRoot, 'gobgpd'],
  ['OpenBGPD of Debian bookworm', 'bookworm', hostRoot, 'openbgpd'],
  ['FRR of Debian trixie', 'trixie', trixieRoot, 'frr'],
  ['BIRD 3 of Debian trixie', 'trixie', trixieRoot, 'bird3'],
];

/** The rows of the daemons that this tier installs. */
const installed = rows.filter(([, , root, name]) => isFullTier || (root === hostRoot && ['frr', 'bird2'].includes(name)));
const others = rows.filter((row) => !installed.includes(row)).map(([row]) => row);
if (others.length > 0) console.info(`left out without TIER=full: ${others.join(', ')}`);

test.each(installed.filter(([, of, root]) => root !== hostRoot || of === release))(
  'the page about support has the minor version of %s that the suite runs',
  async (row, _release, root, name) => {
    const { stdout } = await run([...inRoot(root, ['dpkg-query', '--show', '--showformat=${Version}', name])]);
    console.info(`${row}: ${stdout}`);
    // Debian replaces patch versions on a day of its own, which must fail no change of ours.
    const version = /^(?:\d+:)?(\d+\.\d+)/.exec(stdout)?.[1];
    expect(version).toBeDefined();
    expect(page).toContain(`| ${row} | ${version} |`);
  },
);
