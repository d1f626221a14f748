import { useState } from 'preact/hooks';

interface Branch {
  readonly text: string;
  readonly branches: Branch[];
  /** The line follows an empty one. */
  readonly isApart: boolean;
}

/** The lines of a command as a tree: a line belongs to the last one that is indented less. The words stay as they are. */
export function treeOf(lines: readonly string[]): readonly Branch[] {
  const roots: Branch[] = [];
  const open: { readonly indent: number; readonly branch: Branch }[] = [];
  let isApart = false;
  for (const line of lines) {
    if (line.trim() === '') {
      isApart = true;
      continue;
    }
    const indent = line.length - line.trimStart().length;
    const branch: Branch = { text: line.trim(), branches: [], isApart };
    isApart = false;
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
    (open.at(-1)?.branch.branches ?? roots).push(branch);
    open.push({ indent, branch });
  }
  return roots;
}

/** An explanation, foldable. `isOpen`: of every branch at first. */
export function Tree({ lines, isOpen }: { readonly lines: readonly string[]; readonly isOpen: boolean }) {
  return (
    <ul class="tree">
      {treeOf(lines).map((branch, index) => (
        <BranchView key={`${index} ${branch.text}`} branch={branch} isOpen={isOpen} />
      ))}
    </ul>
  );
}

function BranchView({ branch, isOpen }: { readonly branch: Branch; readonly isOpen: boolean }) {
  const { text, branches, isApart } = branch;
  const style = [isApart ? 'apart' : '', text.startsWith('fix: ') ? 'fix' : ''].join(' ').trim();
  if (branches.length === 0) return <li class={style}>{text}</li>;
  return (
    <li class={style}>
      <details open={isOpen}>
        <summary>{text}</summary>
        <ul>
          {branches.map((inner, index) => (
            <BranchView key={`${index} ${inner.text}`} branch={inner} isOpen={isOpen} />
          ))}
        </ul>
      </details>
    </li>
  );
}

/** Copies the lines as the command prints them. */
export function CopyButton({ lines }: { readonly lines: readonly string[] }) {
  const [said, setSaid] = useState('Copy as text');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(`${lines.join('\n')}\n`);
      setSaid('Copied');
    } catch {
      setSaid('The browser does not allow it');
    }
    setTimeout(() => setSaid('Copy as text'), 2000);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      <span aria-live="polite">{said}</span>
    </button>
  );
}
