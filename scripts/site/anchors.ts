/**
 * Returns the anchor of a heading as GitHub makes it, so that a link works there and on the site: lower case, without punctuation, "-" for a
 * space.
 */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\p{Mark}\p{Number}\p{Connector_Punctuation} -]/gu, '')
    .replaceAll(' ', '-');
}

/** Returns every anchor of a page of Markdown. A heading that occurs again has "-1", "-2" at its end. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const prose = withoutCode(text);
  const anchors = new Set([...prose.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id));
  const seen = new Map<string, number>();
  for (const [, heading = ''] of prose.matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const anchor = anchorOf(
      heading
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replaceAll('<', '')
        .replaceAll('>', ''),
    );
    const before = seen.get(anchor);
    seen.set(anchor, (before ?? 0) + 1);
    anchors.add(before === undefined ? anchor : `${anchor}-${before}`);
  }
  return anchors;
}

/** Returns the text without its fenced blocks, in which nothing is a heading or a link. */
export function withoutCode(text: string): string {
  return text.replaceAll(/^( *)(`{3,})[^\n]*\n[\s\S]*?^\1\2 *$/gm, '');
}
