import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { addNote } from './elf-note.ts';

/** The mark in a Node.js program that says whether it contains an application: its last character is 0 or 1. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:';

/** The architectures of Go and krew, by the machine of the ELF header. */
const architectures: Readonly<Record<number, string>> = { 62: 'amd64', 183: 'arm64' };

export interface SingleProgram {
  /** As krew writes it: amd64, arm64. */
  readonly architecture: string;
  readonly content: Buffer;
}

/**
 * Makes a program of CommonJS modules and a Node.js 24 of Linux, which may be of another architecture. The same parts give the same octets:
 * without compiled code (useCodeCache), which would differ each time, and with a path that does not name this machine.
 */
export function singleProgram(parts: ReadonlyMap<string, string>, node: string): SingleProgram {
  const program = readFileSync(node);
  const architecture = architectures[program.readUInt16LE(18)];
  if (architecture === undefined) throw new Error(`${node} is for neither x86-64 nor arm64`);
  const content = addNote(program, 'NODE_SEA_BLOB', applicationOf(parts));
  const at = content.indexOf(`${fuse}0`);
  if (at === -1) throw new Error(`${node} is not a Node.js that can contain an application`);
  content.write('1', at + fuse.length);
  return { architecture, content };
}

/** Loads modules from the program itself, each when it is first required. `_compile` is what compiles each CommonJS module of Node.js. */
const loader = (entry: string): string => `
const { Module } = require('node:module');
const { getAsset, getAssetKeys } = require('node:sea');
const names = new Set(getAssetKeys());
const loaded = new Map();
function load(id) {
  const name = id.replace(/^\\.\\//, '');
  if (!names.has(name)) return require(id);
  const known = loaded.get(name);
  if (known !== undefined) return known.exports;
  const module = new Module(process.execPath);
  module.require = load;
  loaded.set(name, module);
  module._compile(getAsset(name, 'utf8'), process.execPath);
  return module.exports;
}
load(${JSON.stringify(entry)});
`;

/** Returns what Node.js reads from the note: the modules, what loads them, and its settings. */
function applicationOf(parts: ReadonlyMap<string, string>): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'herald-program-'));
  try {
    const [entry = ''] = parts.keys();
    const assets = Object.fromEntries([...parts.keys()].map((name) => [name, name]));
    const config = { main: 'kubectl-herald.cjs', output: 'application', disableExperimentalSEAWarning: true, assets };
    for (const [name, code] of parts) writeFileSync(join(folder, name), code);
    writeFileSync(join(folder, config.main), loader(entry));
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
    execFileSync(process.execPath, ['--experimental-sea-config', 'config.json'], { cwd: folder, stdio: 'pipe' });
    return readFileSync(join(folder, config.output));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
