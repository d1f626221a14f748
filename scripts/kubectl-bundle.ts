import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { rolldown, type OutputChunk, type Plugin } from 'rolldown';

export interface Bundle {
  /** JavaScript with a first line that has a shell run it. */
  readonly program: string;
  /** Name, version and licence of every package that a part of is in it. */
  readonly licences: string;
}

/** The commands for terminals with all that they need, in one module. `root`: of this repository. */
export async function bundle(root: string): Promise<Bundle> {
  const build = await rolldown({ input: join(root, 'src/cli/main.ts'), platform: 'node', plugins: [leftOut(root)], logLevel: 'warn' });
  try {
    const { output } = await build.generate({ format: 'esm', codeSplitting: false, minify: true, banner: firstLines });
    const [chunk, ...others] = output;
    const foreign = chunk.imports.filter((name) => !isBuiltIn(name));
    if (others.length > 0 || foreign.length > 0)
      throw new Error(`not everything is in one file: ${[...others.map(({ fileName }) => fileName), ...foreign].join(', ')}`);
    return { program: chunk.code, licences: licencesOf(chunk) };
  } finally {
    await build.close();
  }
}

const isBuiltIn = (name: string): boolean => builtinModules.includes(name.replace(/^node:/, ''));

/** An older Node.js comes as far as this, and would fail at something that nobody understands. */
const firstLines = `#!/usr/bin/env node
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write('kubectl herald: needs Node.js 24 or later, and the first one on the PATH is ' + process.version + '\\n');
  process.exit(1);
}`;

/** Of client-node the reading of kubeconfig files is used, and its entry has the types of the whole API of Kubernetes: 15 MB. */
function leftOut(root: string): Plugin {
  const places = new Map([
    ['@kubernetes/client-node', join(root, 'node_modules/@kubernetes/client-node/dist/config.js')],
    ['./processes.ts', join(root, 'src/cli/kubectl-processes.ts')],
  ]);
  return { name: 'what a terminal has no use for', resolveId: (id) => places.get(id) ?? null };
}

/** What licences ask for: their text goes where the code goes. */
function licencesOf({ moduleIds }: OutputChunk): string {
  const folders = new Set(moduleIds.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []));
  const parts = [...folders].toSorted().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, string>;
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    const text = file !== undefined ? readFileSync(join(folder, file), 'utf8').trim() : '';
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  return parts.join(`\n${'-'.repeat(80)}\n\n`);
}
