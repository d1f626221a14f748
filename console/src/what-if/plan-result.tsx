import type { Health, PlanRow, PlanView } from '../../../src/console/contract.ts';
import { Mark } from '../parts/mark.tsx';
import { Notes } from '../parts/notes.tsx';
import { CopyButton } from '../parts/tree.tsx';
import { PlanDrawing } from './plan-map.tsx';

const signs: Readonly<Record<Exclude<PlanRow['sign'], ''>, { readonly health: Health; readonly word: string }>> = {
  '+': { health: 'good', word: 'added' },
  '-': { health: 'bad', word: 'removed' },
  '~': { health: 'doubtful', word: 'changed' },
  '!': { health: 'bad', word: 'interrupted or refused' },
};

/** Shows the changes that a plan would make, with the words of `herald plan`. */
export function PlanResult({ view }: { readonly view: PlanView }) {
  const { notes, lines, summary, sections, map } = view;
  return (
    <>
      <Notes notes={notes} />
      <section class="card" aria-labelledby="planned">
        <div class="card-head">
          <h2 id="planned">What would change</h2>
          <div class="tools">
            <CopyButton lines={lines} />
          </div>
        </div>
        {summary.map((line) => (
          <p key={line} class="verdict">
            {line}
          </p>
        ))}
        {map.links.length > 0 && <PlanDrawing map={map} />}
      </section>
      {sections.map(({ title, rows, more }) => (
        <section key={title} class="card" aria-label={title}>
          <h2>{title}</h2>
          <ul class="planned">
            {rows.map(({ sign, text }, index) => (
              <li key={`${index} ${text}`}>
                {sign !== '' && <Mark health={signs[sign].health} label={signs[sign].word} />}
                <span>{text}</span>
              </li>
            ))}
          </ul>
          {more > 0 && <p class="muted">{more} more are in the text to copy.</p>}
        </section>
      ))}
    </>
  );
}
