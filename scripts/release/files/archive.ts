import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { tarOf, type Node } from './tree.ts';

/** Compresses without a name or a time. The operating system octet (RFC 1952 2.3.1) says "unknown". */
export function compress(content: Buffer): Buffer {
  const compressed = gzipSync(content, { level: 9 });
  compressed[9] = 255;
  return compressed;
}

export function compressedTar(tree: ReadonlyMap<string, Node>, modified: Date): Buffer {
  return compress(tarOf(tree, modified));
}

export function sha256(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('hex');
}
