import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stagesOf } from '../../conformance/container/containerfile.ts';
import { heraldImage, type HeraldImage } from '../images/index.ts';

const root = join(import.meta.dirname, '../../..');

/**
 * Returns an image of the next minor version: these sources with another number in package.json, which `herald --version` prints. The number changes
 * in the last step of the first stage, so that all steps before it are those of the image of this version, and are not made again.
 */
export async function nextVersion(): Promise<HeraldImage> {
  const context = mkdtempSync(join(tmpdir(), 'herald-next-'));
  try {
    const containerfile = readFileSync(join(root, 'Containerfile'), 'utf8');
    const copied = stagesOf(containerfile)
      .flatMap(({ instructions }) => instructions)
      .filter(({ name, value }) => name === 'COPY' && !value.startsWith('--from'))
      .flatMap(({ value }) => value.split(/\s+/).slice(0, -1));
    for (const path of new Set(copied)) cpSync(join(root, path), join(context, path), { recursive: true, preserveTimestamps: true });
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
    const lastStage = containerfile.lastIndexOf('FROM ');
    const change = `RUN sed -i 's/"version": "${version}"/"version": "${nextMinor(version)}"/' package.json\n`;
    writeFileSync(join(context, 'Containerfile'), containerfile.slice(0, lastStage) + change + containerfile.slice(lastStage));
    return await heraldImage(context);
  } finally {
    rmSync(context, { recursive: true });
  }
}

/** "0.2.0" -> "0.3.0" */
export function nextMinor(version: string): string {
  const [major, minor = '0'] = version.split('.');
  return `${major}.${Number(minor) + 1}.0`;
}
