import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import type { OutputChunk } from 'rolldown';

/** Returns the modules that a bundle imports and neither contains nor finds in Node.js, sorted. */
export function foreignImports(chunks: readonly OutputChunk[]): string[] {
  const own = new Set(chunks.map(({ fileName }) => fileName));
  const imported = new Set(chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]));
  return [...imported].filter((name) => !own.has(name) && !builtinModules.includes(name.replace(/^node:/, ''))).toSorted();
}

/** Returns the name, version and licence text of each bundled package: the text must accompany the code. */
export function licencesOf(chunks: readonly OutputChunk[]): string {
  const modules = chunks.flatMap(({ moduleIds }) => moduleIds);
  const folders = new Set(modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []));
  const parts = [...folders].toSorted().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, string>;
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    const text = file !== undefined ? readFileSync(join(folder, file), 'utf8').trim() : '';
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  return joinLicences(...parts);
}

export function joinLicences(...parts: readonly string[]): string {
  return parts.join(`\n${'-'.repeat(80)}\n\n`);
}
