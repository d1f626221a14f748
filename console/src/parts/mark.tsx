import { serviceOutcomes, type Health, type ServiceOutcome } from '../../../src/console/contract.ts';

/** Each health has a shape of its own, so that colour is never the only difference. */
const shapes: Readonly<Record<Health, string>> = {
  good: 'M3.5 8.5l3 3 6-7',
  bad: 'M4 4l8 8M12 4l-8 8',
  doubtful: 'M8 3.5v5.5M8 12v.5',
  unknown: 'M5.6 6a2.4 2.4 0 1 1 3.4 2.2c-.7.4-1 .8-1 1.6M8 12.4v.3',
  off: 'M4 8h8',
};

export const healthWords: Readonly<Record<Health, string>> = {
  good: 'works',
  bad: 'has a problem',
  doubtful: 'works, with a problem',
  unknown: 'not known',
  off: 'not used',
};

/** `label` is what a screen reader says. Absent: the words beside it say it. */
export function Mark({ health, label }: { readonly health: Health; readonly label?: string }) {
  const said = label === undefined ? ({ 'aria-hidden': true } as const) : ({ role: 'img', 'aria-label': label } as const);
  return (
    <svg class={`mark ${health}`} viewBox="0 0 16 16" {...said}>
      <path d={shapes[health]} />
    </svg>
  );
}

/** How a Service is served, with the same words and colour in every view. */
export function Outcome({ outcome }: { readonly outcome: ServiceOutcome }) {
  const { words, health } = serviceOutcomes[outcome];
  return (
    <span class={`state ${health}`}>
      <Mark health={health} />
      {words}
    </span>
  );
}

/** The worst first. */
export const outcomes = Object.keys(serviceOutcomes) as readonly ServiceOutcome[];
