import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Health } from '../../../src/console/contract.ts';

/** An arrow between two boxes, which are found by their attribute data-box. */
export interface Arrow {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly health: Health;
  readonly title: string;
}

interface Drawn extends Arrow {
  readonly d: string;
  readonly x: number;
  readonly y: number;
}

interface Props {
  readonly arrows: readonly Arrow[];
  readonly class: string;
  readonly chosen?: string;
  readonly onChoose: (id: string) => void;
  readonly children: ComponentChildren;
}

/**
 * Boxes in columns, with arrows drawn behind them. The arrows are for the eye and the pointer alone: the same facts stand as text elsewhere,
 * where the keyboard and screen readers reach them.
 */
export function Diagram({ arrows, class: style, chosen, onChoose, children }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const [{ drawn, width, height }, setDrawn] = useState<{
    readonly drawn: readonly Drawn[];
    readonly width: number;
    readonly height: number;
  }>({
    drawn: [],
    width: 0,
    height: 0,
  });
  const draw = (): void => {
    const { current } = frame;
    if (current === null) return;
    const next = { drawn: arrows.flatMap((arrow) => drawnArrow(current, arrow)), width: current.scrollWidth, height: current.scrollHeight };
    setDrawn((before) => (JSON.stringify(before) === JSON.stringify(next) ? before : next));
  };
  useLayoutEffect(draw, [arrows]);
  useEffect(() => {
    const { current } = frame;
    if (current === null) return undefined;
    const observer = new ResizeObserver(draw);
    observer.observe(current);
    for (const box of current.querySelectorAll('[data-box]')) observer.observe(box);
    return () => observer.disconnect();
  }, [arrows]);
  // Arrows with a problem lie above the others.
  const sorted = [...drawn].toSorted((a, b) => gravity[a.health] - gravity[b.health]);
  return (
    <div ref={frame} class={`diagram ${style}`}>
      <svg class="arrows" aria-hidden="true" width={width} height={height}>
        {sorted.map(({ id, d, x, y, health, title }) => (
          <g key={id} class={`arrow ${health}${chosen === id ? ' chosen' : ''}`} onClick={() => onChoose(id)}>
            <title>{title}</title>
            <path class="touch" d={d} />
            <path class="line" d={d} />
            {health !== 'good' && health !== 'off' && <Sign x={x} y={y} health={health} />}
          </g>
        ))}
      </svg>
      {children}
    </div>
  );
}

const gravity: Readonly<Record<Health, number>> = { off: 0, good: 1, unknown: 2, doubtful: 3, bad: 4 };

const signs = {
  bad: 'M-3-3l6 6M3-3l-6 6',
  doubtful: 'M0-4v4.5M0 3.6v.4',
  unknown: 'M-1.8-2a1.9 1.9 0 1 1 2.8 1.7c-.7.4-1 .7-1 1.4M0 3.8v.2',
} as const;

function Sign({ x, y, health }: { readonly x: number; readonly y: number; readonly health: 'bad' | 'doubtful' | 'unknown' }) {
  return (
    <g class="sign" transform={`translate(${x} ${y})`}>
      <circle r="9" />
      <path d={signs[health]} />
    </g>
  );
}

/** A curve from the right edge of one box to the left edge of the other. None while a box is not drawn beside the other. */
function drawnArrow(frame: HTMLElement, arrow: Arrow): Drawn[] {
  const [from, to] = [arrow.from, arrow.to].map((id) => frame.querySelector<HTMLElement>(`[data-box="${CSS.escape(id)}"]`));
  if (from === null || to === null || from === undefined || to === undefined) return [];
  const origin = frame.getBoundingClientRect();
  const [a, b] = [from.getBoundingClientRect(), to.getBoundingClientRect()];
  if (b.left <= a.right) return [];
  const [x1, y1] = [a.right - origin.left + frame.scrollLeft, a.top + a.height / 2 - origin.top];
  const [x2, y2] = [b.left - origin.left + frame.scrollLeft, b.top + b.height / 2 - origin.top];
  const bend = (x2 - x1) / 2;
  const d = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  return [{ ...arrow, d, ...pointOf([x1, y1], [x2, y2], bend) }];
}

/** A point of the curve nearer to its end, where arrows to different boxes lie apart. */
function pointOf(
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
  bend: number,
): { readonly x: number; readonly y: number } {
  const t = 0.68;
  const u = 1 - t;
  const at = (p0: number, p1: number, p2: number, p3: number): number =>
    Math.round(u ** 3 * p0 + 3 * u * u * t * p1 + 3 * u * t * t * p2 + t ** 3 * p3);
  return { x: at(x1, x1 + bend, x2 - bend, x2), y: at(y1, y1, y2, y2) };
}
