/** Prints the demo's progress: lines for people, in colour only on a terminal, or one JSON object a line. */
export interface Reporter {
  /** Begins a chapter. */
  readonly chapter: (title: string) => void;
  /** Prints a remark. */
  readonly say: (text: string, facts?: Readonly<Record<string, unknown>>) => void;
  /** Prints a check that must hold, and counts its outcome. */
  readonly check: (name: string, holds: boolean, seen: string, facts?: Readonly<Record<string, unknown>>) => void;
  readonly quote: (lines: readonly string[]) => void;
  readonly result: () => { readonly passed: number; readonly failed: number };
}

export function makeReporter(options: {
  readonly json: boolean;
  readonly colour: boolean;
  readonly print: (line: string) => void;
}): Reporter {
  const { json, print } = options;
  const begun = performance.now();
  let passed = 0;
  let failed = 0;
  const paint = (code: number, text: string): string => (options.colour ? `\u001B[${code}m${text}\u001B[0m` : text);
  const clock = (): string => paint(2, `${((performance.now() - begun) / 1000).toFixed(1).padStart(6)} s`);
  const event = (kind: string, fields: Readonly<Record<string, unknown>>): void => {
    print(JSON.stringify({ seconds: Number(((performance.now() - begun) / 1000).toFixed(3)), kind, ...fields }));
  };
  return {
    chapter: (title) => (json ? event('chapter', { title }) : print(`\n${paint(1, title)}`)),
    say: (text, facts) => (json ? event('note', { text, ...facts }) : print(`${clock()}    ${text}`)),
    check: (name, holds, seen, facts) => {
      if (holds) passed++;
      else failed++;
      const mark = holds ? paint(32, 'ok  ') : paint(31, 'FAIL');
      if (json) event('check', { name, holds, seen, ...facts });
      else print(`${clock()} ${mark} ${name}${seen === '' ? '' : paint(2, `  ${seen}`)}`);
    },
    quote: (lines) => (json ? event('quote', { lines }) : lines.forEach((line) => print(`             ${paint(36, line)}`))),
    result: () => ({ passed, failed }),
  };
}
