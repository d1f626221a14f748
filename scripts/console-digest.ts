import { createHash } from 'node:crypto';
import type { PageFile } from '../src/console/server.ts';

/** The pictures of docs/how-to/console.md, and the views that they show. */
export const images = [
  { name: 'console-services.png', path: '/services' },
  { name: 'console-service.png', path: '/service?name=shop/web' },
  { name: 'console-fabric.png', path: '/fabric' },
  { name: 'console-addresses.png', path: '/addresses' },
  { name: 'console-history.png', path: '/history?kind=Service&name=shop/web' },
  { name: 'console-what-if.png', path: '/what-if' },
] as const;

/** Changes whenever the page can look different. */
export function digestOf(files: readonly PageFile[]): string {
  const drawn = files.filter(({ name }) => /\.(?:html|css|js)$/.test(name)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const digest = createHash('sha256');
  for (const { name, content } of drawn) digest.update(`${name}\n${content}\n`);
  return digest.digest('hex').slice(0, 16);
}
