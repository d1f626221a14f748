import { blocksOf, type Block } from './blocks.ts';

/** Reasons why a block may be without a test. Each names something that tests do not have. */
export const reasons = {
  kind: 'Docker and kind',
  image: 'a container engine, and a registry',
  pods: 'a kubelet, which runs containers',
  plugin: 'a network plugin',
  router: "a vendor's router",
  aws: 'an account of AWS',
  provider: 'an API of load balancers',
} as const;

export type NotRun = keyof typeof reasons;

/** The steps that a reader takes on a page, in order. */
export type Step = FileStep | ShellStep | NotRunStep;

/** A block below a sentence such as "Write this into `herald.yaml`:". */
export interface FileStep {
  readonly kind: 'file';
  readonly where: string;
  readonly name: string;
  readonly text: string;
}

export interface ShellStep {
  readonly kind: 'shell';
  readonly where: string;
  readonly script: string;
  /** The expected exit status: ```sh exits: 2 */
  readonly status: number;
  /** The command reads something that takes time to appear, so it is repeated until it succeeds: ```sh eventually */
  readonly eventually: boolean;
  /** The command runs until Ctrl-C: ```sh interrupted */
  readonly interrupted: boolean;
  /** An alternative to the blocks above, so it begins with the state at the beginning of the page: ```sh instead */
  readonly instead: boolean;
  /** The output that the page shows. */
  readonly output: string | undefined;
}

export interface NotRunStep {
  readonly kind: 'not-run';
  readonly where: string;
  readonly reason: NotRun;
}

const shell = /^sh(?: (eventually|interrupted|instead))?(?: exits: (\d+))?$/;
const notRun = /^sh not-run: (\w+)(?:, \S.*)?$/;
const file = /(?:[Ww]rite|[Pp]ut|[Ss]ave) [^`\n]*\b(?:into|as) `([^`\n]+)`[^\n]*:\s*$/;

/** Returns the steps of a page. Throws when the mark of a block is not understood. */
export function stepsOf(page: string, markdown: string): readonly Step[] {
  const blocks = blocksOf(page, markdown);
  return blocks.flatMap((block, index) => {
    const step = stepOf(block, blocks[index + 1]);
    return step === undefined ? [] : [step];
  });
}

function stepOf(block: Block, next: Block | undefined): Step | undefined {
  const where = `${block.page}:${block.line}`;
  if (!/^(sh|bash|shell|console)\b/.test(block.info)) {
    const name = file.exec(block.before)?.[1];
    return name === undefined ? undefined : { kind: 'file', where, name, text: `${block.text}\n` };
  }
  const reason = notRun.exec(block.info)?.[1];
  if (reason !== undefined && Object.hasOwn(reasons, reason)) return { kind: 'not-run', where, reason: reason as NotRun };
  const words = shell.exec(block.info);
  if (words === null) throw new Error(`${where}: \`\`\`${block.info}: not understood; see the marks in test/docs/README.md`);
  return {
    kind: 'shell',
    where,
    script: block.text,
    status: Number(words[2] ?? 0),
    eventually: words[1] === 'eventually',
    interrupted: words[1] === 'interrupted',
    instead: words[1] === 'instead',
    output: next !== undefined && /^(text)?$/.test(next.info) && next.before.trim() === '' ? next.text : undefined,
  };
}
