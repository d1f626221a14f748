import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hex, toHex } from '../../src/bgp/test/hex.ts';
import type { CodecName } from './codec.ts';

const folderOf = (codec: CodecName): string => join(import.meta.dirname, 'cases', codec);

export interface Case {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Returns the messages or frames that fuzzing has found. The unit tests of the codec run each of them. In a file, # starts a remark. */
export function savedCases(codec: CodecName): readonly Case[] {
  const folder = folderOf(codec);
  // A codec that never failed has no folder.
  const files = (existsSync(folder) ? readdirSync(folder) : []).filter((name) => name.endsWith('.hex'));
  return files.map((name) => ({ name, bytes: hex(readFileSync(join(folder, name), 'utf8').replaceAll(/#.*/g, '')) }));
}

/** Saves a message or frame and returns the path of its file. */
export function saveCase(codec: CodecName, bytes: Uint8Array, remark: string): string {
  const name = `${createHash('sha256').update(bytes).digest('hex').slice(0, 12)}.hex`;
  const folder = folderOf(codec);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `# ${remark.replaceAll('\n', ' ')}\n${toHex(bytes)}\n`);
  return join(folder, name);
}
