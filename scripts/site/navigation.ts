import { addressOf, titleOf, type Page } from './pages.ts';

export interface Group {
  readonly text: string;
  readonly collapsed: boolean;
  readonly items: readonly Item[];
}

export interface Item {
  readonly text: string;
  readonly link: string;
}

/** The groups of the navigation. A page is in the first group whose pattern matches its path. */
const groups: readonly (readonly [text: string, pattern: RegExp])[] = [
  ['Start', /^(README|docs\/(README|quick-start|tutorial[a-z-]*))\.md$/],
  ['How-to', /^(docs\/how-to|manifests)\//],
  ['Reference', /^docs\/(reference\/|features\.md)/],
  ['Explanation', /^docs\/(explanation\/|ARCHITECTURE\.md)/],
  ['Decisions', /^docs\/adr\//],
  ['Project', /^[A-Z]+\.md$/],
  ['Libraries and examples', /^(src|providers|console|examples)\//],
  ['Tests', /^test\//],
];

/** Returns the groups of the navigation with their pages. The index of a folder comes first, and the others in the order of their titles. */
export function navigationOf(pages: readonly Page[]): readonly Group[] {
  const members = Map.groupBy(pages, ({ path }) => {
    const group = groups.findIndex(([, pattern]) => pattern.test(path));
    if (group === -1) throw new Error(`${path} is in no group of the site's navigation (scripts/site/navigation.ts)`);
    return group;
  });
  return groups.map(([text], group) => ({
    text,
    collapsed: group > 1,
    items: (members.get(group) ?? []).map(itemOf).toSorted(byIndexThenTitle),
  }));
}

function itemOf(page: Page): Item {
  // The group says already that it is a how-to page.
  const title = titleOf(page).replace(/^How to: /, '');
  return { text: title.charAt(0).toUpperCase() + title.slice(1), link: `/${addressOf(page.path)}` };
}

function byIndexThenTitle(left: Item, right: Item): number {
  const isIndex = ({ link }: Item): number => (link.endsWith('/index.html') ? 0 : 1);
  return isIndex(left) - isIndex(right) || left.text.localeCompare(right.text, 'en', { numeric: true });
}
