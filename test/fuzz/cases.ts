import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hex, toHex } from '../unit/bgp/hex.ts';

const folder = join(import.meta.dirname, 'cases');

export interface Case {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Returns the messages that fuzzing has found. test/unit/bgp/wire/fuzz.test.ts runs each of them. In a file, # starts a remark. */
export function savedCases(): readonly Case[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.hex'));
  return files.map((name) => ({ name, bytes: hex(readFileSync(join(folder, name), 'utf8').replaceAll(/#.*/g, '')) }));
}

/** Saves a message and returns the path of its file. */
export function saveCase(bytes: Uint8Array, remark: string): string {
  const name = `${createHash('sha256').update(bytes).digest('hex').slice(0, 12)}.hex`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `# ${remark.replaceAll('\n', ' ')}\n${toHex(bytes)}\n`);
  return join(folder, name);
}
