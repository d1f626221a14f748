import type { TargetedPointerEvent } from 'preact';
import { useState } from 'preact/hooks';
import { toneOf, type HistoryView } from '../../../src/console/contract.ts';
import { clockText } from '../state/time.ts';
import { between, type Window } from './window.ts';

const laneHeight = 26;
const left = 130;
const width = 1000;
const inset = 16;
const marks = 5;

interface Props {
  readonly entries: HistoryView['entries'];
  readonly shown: Window;
  /** The moment whose path is drawn. */
  readonly at?: number;
  readonly onZoom: (part: Window) => void;
}

/** A line for each process, with a mark for each entry, by time. The list below has the same as text, and buttons do what the pointer does. */
export function Lanes({ entries, shown, at, onZoom }: Props) {
  const [drag, setDrag] = useState<{ readonly from: number; readonly to: number }>();
  const lanes = [...new Set(entries.map(({ by }) => by))].toSorted();
  const span = Math.max(1, shown.to - shown.from);
  const [begin, end] = [left + inset, width - inset];
  const place = (time: number): number => begin + ((time - shown.from) / span) * (end - begin);
  const timeAt = (event: TargetedPointerEvent<SVGSVGElement>): number => {
    const box = event.currentTarget.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * width;
    return shown.from + ((Math.min(end, Math.max(begin, x)) - begin) / (end - begin)) * span;
  };
  const height = lanes.length * laneHeight + 24;
  return (
    <svg
      class="lanes"
      viewBox={`0 0 ${width} ${height}`}
      aria-hidden="true"
      onPointerDown={(event) => setDrag({ from: timeAt(event), to: timeAt(event) })}
      onPointerMove={(event) => {
        if (drag !== undefined) setDrag({ from: drag.from, to: timeAt(event) });
      }}
      onPointerUp={() => {
        setDrag(undefined);
        if (drag !== undefined && Math.abs(place(drag.to) - place(drag.from)) > 6) onZoom(between(drag.from, drag.to));
      }}
      onPointerLeave={() => setDrag(undefined)}
    >
      {drag !== undefined && (
        <rect
          class="part"
          x={Math.min(place(drag.from), place(drag.to))}
          y="0"
          width={Math.abs(place(drag.to) - place(drag.from))}
          height={height - 20}
        />
      )}
      {lanes.map((lane, index) => (
        <g key={lane}>
          <text x={left - 10} y={index * laneHeight + 18} text-anchor="end">
            {lane.length > 18 ? `${lane.slice(0, 17)}…` : lane}
            <title>{lane}</title>
          </text>
          <path d={`M${left} ${index * laneHeight + 14}H${width}`} />
        </g>
      ))}
      {at !== undefined && at >= shown.from && at <= shown.to && <path class="moment" d={`M${place(at)} 0V${height - 20}`} />}
      {entries.map((entry, index) => (
        <Point
          key={`${entry.at} ${index}`}
          tone={toneOf(entry.what)}
          x={place(Date.parse(entry.at))}
          y={lanes.indexOf(entry.by) * laneHeight + 14}
          title={`${clockText(entry.at)} ${entry.name} ${entry.what}: ${entry.text}`}
        />
      ))}
      {Array.from({ length: marks }, (_, index) => {
        const time = shown.from + (span * index) / (marks - 1);
        return (
          <text key={index} x={place(time)} y={height - 4} text-anchor={index === 0 ? 'start' : index === marks - 1 ? 'end' : 'middle'}>
            {clockText(new Date(time).toISOString())}
          </text>
        );
      })}
    </svg>
  );
}

/** A diamond has lost something, a circle has gained it. */
function Point({ tone, x, y, title }: { readonly tone: string; readonly x: number; readonly y: number; readonly title: string }) {
  if (tone === 'bad')
    return (
      <rect class="point bad" x={x - 4.5} y={y - 4.5} width="9" height="9" transform={`rotate(45 ${x} ${y})`}>
        <title>{title}</title>
      </rect>
    );
  return (
    <circle class={`point ${tone}`} cx={x} cy={y} r="5">
      <title>{title}</title>
    </circle>
  );
}
