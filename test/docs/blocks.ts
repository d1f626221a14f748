/** A fenced block of a documentation page. */
export interface Block {
  readonly page: string;
  /** The line of its opening fence, from 1. */
  readonly line: number;
  /** The text after the opening fence: "yaml", "sh not-run: kind: needs Docker". "not closed" when the page ends first. */
  readonly info: string;
  readonly text: string;
  /** The text between the block before and this one. */
  readonly before: string;
}

/** Returns the fenced blocks of a page. In a list both fence and text are indented. */
export function blocksOf(page: string, markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: { indent: number; info: string; line: number; before: string } | undefined;
  let lines: string[] = [];
  for (const [index, line] of markdown.split('\n').entries()) {
    const fence = /^( *)```(.*)$/.exec(line);
    if (fence === null) lines.push(line.slice(open?.indent ?? 0));
    else if (open === undefined) {
      open = { indent: fence[1]?.length ?? 0, info: fence[2]?.trim() ?? '', line: index + 1, before: lines.join('\n') };
      lines = [];
    } else {
      blocks.push({ page, line: open.line, info: open.info, text: lines.join('\n'), before: open.before });
      open = undefined;
      lines = [];
    }
  }
  return open === undefined ? blocks : [...blocks, { page, line: open.line, info: 'not closed', text: '', before: open.before }];
}
