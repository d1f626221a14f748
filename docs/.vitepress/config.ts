/** The documentation as a site: `npm run docs:dev` and `npm run docs:build`. The pages are the Markdown of the repository, without a change. */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { defineConfig } from 'vitepress';
import { anchorOf } from '../../scripts/site/anchors.ts';
import { navigationOf } from '../../scripts/site/navigation.ts';
import { foldersWithoutPages, readPages } from '../../scripts/site/pages.ts';
import { linkedFileAt, publishLinkedFiles, publishRepositoryAddresses, siteLink } from '../../scripts/site/site-links.ts';

const root = join(import.meta.dirname, '../..');
const pages = readPages(root);
const { version, description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<'version' | 'description', string>;
const sidebar = navigationOf(pages);

export default defineConfig({
  title: 'Herald',
  description,
  lang: 'en',
  // The addresses are those of the repository, so that a link leads to the same page in both: /docs/how-to/install.html.
  srcDir: '..',
  srcExclude: foldersWithoutPages.map((folder) => `**/${folder}/**`),
  rewrites: (path) => path.replace(/(^|\/)README\.md$/, '$1index.md'),
  outDir: '../dist-site',
  cacheDir: '../node_modules/.vitepress',
  // scripts/site/links.ts checks links and anchors before the build.
  ignoreDeadLinks: true,
  markdown: {
    anchor: { slugify: anchorOf },
    config: (markdown) => {
      markdown.core.ruler.push('site-links', ({ tokens, env }) => {
        const { realPath, path } = env as { readonly realPath?: string; readonly path: string };
        const from = relative(root, realPath ?? path);
        for (const link of tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === 'link_open'))
          link.attrSet('href', siteLink(from, link.attrGet('href') ?? ''));
      });
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Quick start', link: '/docs/quick-start.html' },
      { text: 'Documentation', link: '/docs/index.html' },
      { text: `Version ${version}`, link: '/CHANGELOG.html' },
    ],
    sidebar: sidebar.map(({ items, ...group }) => ({ ...group, items: [...items] })),
    outline: [2, 3],
    footer: { message: `Documentation of Herald ${version}. Apache-2.0.` },
  },
  buildEnd: ({ outDir }) => {
    publishLinkedFiles(root, pages, outDir);
    publishRepositoryAddresses(pages, outDir);
  },
  vite: {
    // The index of the search is larger, and loaded only when a reader searches.
    build: { chunkSizeWarningLimit: 4096 },
    plugins: [
      {
        name: 'linked-files',
        configureServer: ({ middlewares }) => {
          middlewares.use((request, response, next) => {
            const text = linkedFileAt(root, pages, request.url ?? '');
            if (text === undefined) return next();
            response.setHeader('content-type', 'text/plain; charset=utf-8').end(text);
          });
        },
      },
    ],
  },
});
