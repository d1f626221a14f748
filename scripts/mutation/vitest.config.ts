import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import whole from '../../vitest.config.ts';
import { applied, type Mutant } from './mutants.ts';

/** The unit tests over sources with one change, which the environment names. No file on the disk is changed. */
const root = join(import.meta.dirname, '../..');
const mutant = JSON.parse(process.env['HERALD_MUTANT'] ?? 'null') as Mutant | null;
const projects = whole.test?.projects as readonly { readonly test: { readonly name: string } }[];
const { ssr, test } = projects.find((one) => one.test.name === 'unit') as ViteUserConfig;

export default defineConfig({
  root,
  ...(ssr === undefined ? {} : { ssr }),
  test: { ...test, bail: 1, reporters: ['json'] },
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      transform: (_, id) =>
        mutant !== null && relative(root, id.split('?')[0] ?? '') === mutant.file
          ? { code: applied(readFileSync(join(root, mutant.file), 'utf8'), mutant), map: null }
          : undefined,
    },
  ],
});
