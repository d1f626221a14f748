import type { PlanRow, PlanView } from '../../../src/console/contract.ts';
import { Notes } from '../parts/notes.tsx';
import { CopyButton } from '../parts/tree.tsx';
import { PlanDrawing } from './plan-map.tsx';

/** The signs of the command. A mark for what works would claim that a rule which is only added does. */
const signs: Readonly<Record<Exclude<PlanRow['sign'], ''>, { readonly drawn: string; readonly style: string; readonly words: string }>> = {
  '+': { drawn: '+', style: '', words: 'added' },
  '-': { drawn: '\u2212', style: 'doubtful', words: 'removed' },
  '~': { drawn: '~', style: 'doubtful', words: 'changed' },
  '!': { drawn: '!', style: 'bad', words: 'interrupted or refused' },
};

function Sign({ sign }: { readonly sign: keyof typeof signs }) {
  const { drawn, style, words } = signs[sign];
  return (
    <span class={`plan-sign ${style}`} role="img" aria-label={words}>
      {drawn}
    </span>
  );
}

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
                {sign !== '' && <Sign sign={sign} />}
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
