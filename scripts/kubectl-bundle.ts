import { join } from 'node:path';
import { rolldown, type Plugin } from 'rolldown';
import { foreignImports, joinLicences, licencesOf } from './bundle-parts.ts';
import { bundleConsole, containedPage } from './console-bundle.ts';

export interface Bundle {
  /** JavaScript with a `#!` line, so that a shell can run it where Node.js is installed. */
  readonly program: string;
  /**
   * The same as CommonJS modules, by name, of which a command loads only those that it needs: to compile one module of all would take longer than
   * most commands run. The first is the entry.
   */
  readonly parts: ReadonlyMap<string, string>;
  /** Name, version and licence of every bundled package. */
  readonly licences: string;
}

/** Bundles the terminal commands with all their imports into one module. `root` is the root of the repository. */
export async function bundle(root: string): Promise<Bundle> {
  const page = await bundleConsole(root);
  const plugins = [leaveOut(root), containedPage(page.files)];
  const build = await rolldown({ input: join(root, 'src/cli/main.ts'), platform: 'node', plugins, logLevel: 'warn' });
  try {
    const { output } = await build.generate({ codeSplitting: false, minify: true, format: 'esm', banner: firstLines });
    const [chunk, ...others] = output;
    const { output: split } = await build.generate({ minify: true, format: 'cjs' });
    const chunks = split.filter((one) => one.type === 'chunk');
    const assets = [...others, ...split].filter((one) => one.type === 'asset').map(({ fileName }) => fileName);
    const apart = [...assets, ...foreignImports([chunk]), ...foreignImports(chunks)];
    if (others.length > 0 || apart.length > 0) throw new Error(`not everything is in the program: ${apart.join(', ')}`);
    const parts = new Map(chunks.map(({ fileName, code }) => [fileName, code]));
    return { program: chunk.code, parts, licences: joinLicences(licencesOf([chunk]), page.licences) };
  } finally {
    await build.close();
  }
}

/** The check comes first, because an older Node.js would fail later with an error that does not name the cause. */
const firstLines = `#!/usr/bin/env node
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write('kubectl herald: needs Node.js 24 or later; the first one on the PATH is ' + process.version + '\\n');
  process.exit(1);
}`;

/**
 * Replaces imports that terminals do not need. The commands use only the kubeconfig reader of client-node, whose entry would add the types
 * of the whole Kubernetes API, 15 MB.
 */
function leaveOut(root: string): Plugin {
  const places = new Map([
    ['@kubernetes/client-node', join(root, 'node_modules/@kubernetes/client-node/dist/config.js')],
    ['./processes.ts', join(root, 'src/cli/kubectl-processes.ts')],
  ]);
  return { name: 'leave out imports that terminals do not need', resolveId: (id) => places.get(id) ?? null };
}
