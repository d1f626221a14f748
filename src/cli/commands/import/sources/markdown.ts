/** The beginning of a block of YAML or JSON, with its indentation in a list. The second fence of a block has no word. */
const opening = /^([ \t]*(?:> ?)?)(`{3,}|~{3,})[ \t]*\{?\.?(?:ya?ml|json)\b/i;

export const isMarkdownName = (name: string): boolean => /\.(?:md|markdown|mdx)$/i.test(name);

/** Returns the blocks of YAML and JSON in a Markdown text as documents of YAML. Every line keeps its number. "": there are none. */
export function markdownBlocks(text: string): string {
  let block: { readonly indentation: string; readonly fence: string } | undefined;
  let found = false;
  const lines = text.split(/\r?\n/).map((line) => {
    if (block === undefined) {
      const [, indentation = '', fence] = opening.exec(line) ?? [];
      if (fence === undefined) return '';
      block = { indentation, fence };
      found = true;
      return '---';
    }
    const { indentation, fence } = block;
    const inside = line.startsWith(indentation) ? line.slice(indentation.length) : line.trimStart();
    if (!inside.trimStart().startsWith(fence)) return inside;
    block = undefined;
    return '';
  });
  return found ? lines.join('\n') : '';
}
