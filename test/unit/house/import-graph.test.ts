import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sourceFiles } from '../../../scripts/source-files.ts';

const root = join(import.meta.dirname, '../../..');

/**
 * Allowed imports between rooms, as in docs/ARCHITECTURE.md. A room may always import from itself; imports that are not listed are
 * forbidden.
 */
const leaves = ['src/lang', 'src/net', 'src/system'];
const decisions = ['src/model', 'src/decisions', ...leaves];
const shells = ['src/sources', 'src/kube', 'src/telemetry', 'src/live', 'src/bgp', 'src/bfd', 'src/l2', 'src/dataplane', ...decisions];
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'src/lang': [],
  'src/net': ['src/lang'],
  'src/system': ['src/lang'],
  'src/bgp': leaves,
  'src/bfd': leaves,
  'src/l2': leaves,
  'src/dataplane': leaves,
  'src/model': leaves,
  'src/decisions': ['src/model', ...leaves],
  'src/telemetry': ['src/model', ...leaves],
  'src/kube': ['src/model', 'src/telemetry', ...leaves],
  'src/sources': ['src/model', 'src/kube', 'src/telemetry', ...leaves],
  'src/live': ['src/model', ...leaves],
  'src/explain': ['src/live', ...decisions],
  // Serves what the explanations say. Only the command line imports it.
  'src/console': ['src/explain', 'src/live', 'src/sources', ...decisions],
  'src/controller': shells,
  'src/agent': shells,
  // The provider contract belongs to its consumer, the controller.
  'providers/bare-metal': ['src/controller', ...decisions],
  'providers/aws': ['src/controller', ...decisions],
  'src/cli': ['src/console', 'src/controller', 'src/agent', 'src/explain', 'providers/bare-metal', 'providers/aws', ...shells],
};

/** Pure rooms use no npm package and no Node built-in. */
const pureRooms = new Set([
  'src/net',
  'src/model',
  'src/decisions',
  'src/live',
  'src/explain',
  'src/console',
  'src/controller',
  'src/agent',
  'providers/bare-metal',
  'providers/aws',
]);
/** Allowed in pure rooms: an assertion and a hash are pure. The AWS provider hashes names to fit the lengths that AWS allows. */
const allowedPackages = new Set(['node:assert', 'node:crypto']);
/** Folders of pure rooms that may use packages: only they know the AWS SDK. */
const foldersWithPackages = ['providers/aws/sdk/'];

interface Import {
  readonly from: string;
  readonly to: string;
  /** True for import(), which loads the file when it is needed. */
  readonly isLazy: boolean;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const statements = text.matchAll(/^\s*(?:import|export)\b[^'";]*?from\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|^\s*import\s+'([^']+)'/gm);
  return [...statements].map((match) => {
    const target = match[1] ?? match[2] ?? match[3] ?? '';
    return { from: file, to: target.startsWith('.') ? normalize(join(dirname(file), target)) : target, isLazy: match[2] !== undefined };
  });
}

function roomOf(file: string): string {
  return file.split('/').slice(0, 2).join('/');
}

const files = sourceFiles();
const imports = files.flatMap(importsOf);
const inside = imports.filter(({ to }) => to.startsWith('src/') || to.startsWith('providers/'));
const outside = imports.filter(({ to }) => !to.startsWith('src/') && !to.startsWith('providers/'));

/** Returns the strongly connected components with more than one node (Tarjan 1972). */
function cyclesIn(arrows: readonly Import[]): string[][] {
  const targets = new Map<string, Set<string>>();
  for (const { from, to } of arrows) {
    if (!targets.has(from)) targets.set(from, new Set());
    if (!targets.has(to)) targets.set(to, new Set());
    if (from !== to) targets.get(from)?.add(to);
  }
  const cycles: string[][] = [];
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const visit = (node: string): number => {
    const index = order.size;
    let low = index;
    order.set(node, index);
    stack.push(node);
    for (const target of targets.get(node) ?? []) {
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (stack.includes(target)) low = Math.min(low, lowest.get(target) ?? order.get(target) ?? low);
    }
    lowest.set(node, low);
    if (low === index) {
      const component = stack.splice(stack.indexOf(node));
      if (component.length > 1) cycles.push(component.toSorted());
    }
    return low;
  };
  for (const node of targets.keys()) if (!order.has(node)) visit(node);
  return cycles;
}

/** Returns every folder of a room, the room included. */
function foldersOf(files: readonly string[]): string[] {
  const folders = files.flatMap((file) => {
    const parts = dirname(file).split('/');
    return parts.slice(1).map((_, at) => parts.slice(0, at + 2).join('/'));
  });
  return [...new Set(folders)].toSorted();
}

/**
 * Returns the imports among the direct entries (files and sub-rooms) of a folder. Leaves out import(), which only the composition root
 * uses.
 */
function arrowsInside(folder: string): Import[] {
  const entry = (file: string): string | undefined =>
    file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/')[0] : undefined;
  return inside.flatMap(({ from, to, isLazy }) => {
    const [mine, theirs] = [entry(from), entry(to)];
    return mine === undefined || theirs === undefined || isLazy ? [] : [{ from: mine, to: theirs, isLazy }];
  });
}

/** Entries of a package that are not its code. */
const besideTheCode = new Set(['test', 'bench', 'package.json', 'README.md', 'reference.md']);

/** The most entries of a folder, so that a reader takes it in at a glance. `src/bfd` has more because it is one state machine. */
const mostEntries = 16;
const largerFolders: Readonly<Record<string, number>> = { 'src/bfd': 19 };

describe('the import graph', () => {
  test('the search finds imports', () => {
    expect(inside.length).toBeGreaterThan(20);
  });

  test('every room is in the table of allowed imports', () => {
    const rooms = new Set(files.map(roomOf));
    expect([...rooms].filter((room) => mayImport[room] === undefined)).toEqual([]);
  });

  test('rooms import only from rooms that the table allows', () => {
    const forbidden = inside.filter(({ from, to }) => {
      const [mine, theirs] = [roomOf(from), roomOf(to)];
      return mine !== theirs && !(mayImport[mine] ?? []).includes(theirs);
    });
    expect(forbidden).toEqual([]);
  });

  test('imports stay inside src and providers', () => {
    const escaping = imports.filter(({ to }) => relative(root, join(root, to)).startsWith('..') || /^(test|scripts|bin)\//.test(to));
    expect(escaping).toEqual([]);
  });

  test('pure rooms use no package and no built-in', () => {
    const impure = outside.filter(
      ({ from, to }) =>
        pureRooms.has(roomOf(from)) && !allowedPackages.has(to) && !foldersWithPackages.some((folder) => from.startsWith(folder)),
    );
    expect(impure).toEqual([]);
  });

  test('one file loads node:http, because an import statement costs every process 14 MB', () => {
    const loads = (file: string) => /^import (?!type )[^;]*from 'node:http';/m.test(readFileSync(join(root, file), 'utf8'));
    expect(files.filter(loads)).toEqual([]);
  });

  test('only the composition root loads a provider', () => {
    const loaders = inside.filter(({ from, to }) => to.startsWith('providers/') && !from.startsWith('providers/'));
    expect(new Set(loaders.map(({ from }) => from))).toEqual(new Set(loaders.length > 0 ? ['src/cli/main.ts'] : []));
  });

  test('no file imports itself through others, not even for a type', () => {
    expect(cyclesIn(inside)).toEqual([]);
  });

  test('sub-rooms of a folder import one way', () => {
    const cyclic = foldersOf(files).flatMap((folder) =>
      cyclesIn(arrowsInside(folder)).map((entries) => `${folder}: ${entries.join(', ')}`),
    );
    expect(cyclic).toEqual([]);
  });

  test('no folder has too many entries', () => {
    const crowded = foldersOf(files).flatMap((folder) => {
      const entries = readdirSync(join(root, folder)).filter((name) => !besideTheCode.has(name)).length;
      return entries > (largerFolders[folder] ?? mostEntries) ? [`${folder}: ${entries}`] : [];
    });
    expect(crowded).toEqual([]);
  });
});
