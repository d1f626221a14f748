import type { Note } from '../../../src/console/contract.ts';
import { Mark } from './mark.tsx';

const healths = { error: 'bad', warning: 'doubtful', unknown: 'unknown' } as const;

/** Errors of objects, and what could not be read or asked. Everything in the view may depend on it. */
export function Notes({ notes }: { readonly notes: readonly Note[] }) {
  if (notes.length === 0) return null;
  const errors = notes.filter(({ severity }) => severity === 'error').length;
  const title =
    errors > 0
      ? `${errors} ${errors === 1 ? 'error' : 'errors'} in the objects`
      : `${notes.length} ${notes.length === 1 ? 'note' : 'notes'} on what was read`;
  return (
    <details class="notes" open={errors > 0}>
      <summary>{title}</summary>
      <ul>
        {notes.map(({ severity, line }) => (
          <li key={line}>
            <Mark health={healths[severity]} label={severity} />
            <span>{line}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
