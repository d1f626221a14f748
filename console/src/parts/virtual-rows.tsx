import type { ComponentChildren, TargetedKeyboardEvent } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface Props<T> {
  readonly rows: readonly T[];
  readonly label: string;
  /** Pixels. Every row has the same height, so that a place in 50,000 rows is known without drawing them. */
  readonly rowHeight: number;
  readonly head: ComponentChildren;
  readonly row: (row: T) => ComponentChildren;
  readonly keyOf: (row: T) => string;
  readonly class: string;
}

/** Rows that are drawn above and below the visible ones. */
const margin = 8;

/**
 * A table that draws only the rows that are visible. The arrow keys, Page Up, Page Down, Home and End move among the first links of the
 * rows. Screen readers hear the number of all rows and the place of each.
 */
export function VirtualRows<T>({ rows, label, rowHeight, head, row, keyOf, class: style }: Props<T>) {
  const frame = useRef<HTMLDivElement>(null);
  const wanted = useRef<number | undefined>(undefined);
  const [{ top, height }, setView] = useState({ top: 0, height: 800 });
  const measure = (): void => {
    const { current } = frame;
    if (current !== null) setView({ top: current.scrollTop, height: current.clientHeight });
  };
  useLayoutEffect(measure, []);
  useEffect(() => {
    addEventListener('resize', measure);
    return () => removeEventListener('resize', measure);
  }, []);
  // A shorter list must not leave the frame scrolled beyond its end.
  useLayoutEffect(() => {
    const { current } = frame;
    if (current !== null && current.scrollTop > rows.length * rowHeight) current.scrollTop = 0;
    measure();
  }, [rows, rowHeight]);
  useEffect(() => {
    if (wanted.current === undefined) return;
    const target = frame.current?.querySelector<HTMLElement>(`[data-index="${wanted.current}"] a, [data-index="${wanted.current}"] button`);
    if (target === null || target === undefined) return;
    target.focus({ preventScroll: true });
    wanted.current = undefined;
  });

  const first = Math.max(0, Math.floor(top / rowHeight) - margin);
  const last = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + margin);

  const move = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const { current } = frame;
    const at = (event.target as HTMLElement).closest<HTMLElement>('[data-index]')?.dataset['index'];
    if (current === null || at === undefined) return;
    const page = Math.max(1, Math.floor(current.clientHeight / rowHeight) - 1);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -rows.length,
      End: rows.length,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.min(rows.length - 1, Math.max(0, Number(at) + step));
    wanted.current = next;
    const above = next * rowHeight;
    if (above < current.scrollTop) current.scrollTop = above;
    else if (above + rowHeight > current.scrollTop + current.clientHeight) current.scrollTop = above + rowHeight - current.clientHeight;
    measure();
  };

  return (
    <div class={`rows ${style}`} role="table" aria-label={label} aria-rowcount={rows.length + 1}>
      <div role="rowgroup" class="rows-head">
        <div role="row" aria-rowindex={1}>
          {head}
        </div>
      </div>
      <div ref={frame} class="rows-frame" role="rowgroup" tabIndex={0} aria-label={label} onScroll={measure} onKeyDown={move}>
        <div class="rows-space" role="presentation" style={{ height: `${rows.length * rowHeight}px` }}>
          {rows.slice(first, last).map((one, offset) => (
            <div
              key={keyOf(one)}
              role="row"
              aria-rowindex={first + offset + 2}
              data-index={first + offset}
              style={{ transform: `translateY(${(first + offset) * rowHeight}px)`, height: `${rowHeight}px` }}
            >
              {row(one)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
