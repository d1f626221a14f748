import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { delegateControllers } from '../../cluster/cluster/delegate.ts';

/** Files with the names and contents of a cgroup of version 2. The kernel's own rules do not apply to them. */
let top: string;

beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'herald-cgroup-'));
  for (const [name, text] of [
    ['cgroup.type', 'domain\n'],
    ['cgroup.controllers', 'cpu memory pids\n'],
    ['cgroup.subtree_control', ''],
    ['cgroup.procs', '1\n17\n'],
  ] as const)
    writeFileSync(join(top, name), text);
});

afterEach(() => rmSync(top, { recursive: true, force: true }));

const read = (name: string): string => readFileSync(join(top, name), 'utf8');

test('in a container all processes move into a leaf, and then the cgroups below get every controller', () => {
  delegateControllers(top);
  expect(read('processes-of-container/cgroup.procs')).toBe('1\n17\n');
  expect(read('cgroup.subtree_control')).toBe('+cpu +memory +pids');
});

test('a container whose cgroups have all controllers, and the root of a machine, are left alone', () => {
  writeFileSync(join(top, 'cgroup.subtree_control'), 'cpu memory pids\n');
  delegateControllers(top);
  writeFileSync(join(top, 'cgroup.subtree_control'), '');
  rmSync(join(top, 'cgroup.type'));
  delegateControllers(top);
  expect(read('cgroup.subtree_control')).toBe('');
  expect(readdirSync(top)).not.toContain('processes-of-container');
});
