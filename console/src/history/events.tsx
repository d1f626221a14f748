import type { HistoryView } from '../../../src/console/contract.ts';
import { Link } from '../parts/link.tsx';
import { clockText } from '../state/time.ts';
import { historyPath, withQuery } from '../state/url.ts';

/** Events that are listed at once. The time line has all: zoom into it. */
const listed = 200;

interface Props {
  readonly entries: HistoryView['entries'];
  readonly query: URLSearchParams;
  /** All events concern one object, whose name stands above. */
  readonly isOfOne: boolean;
}

/** The events as text, the newest first. */
export function Events({ entries, query, isOfOne }: Props) {
  const newest = entries.toReversed().slice(0, listed);
  return (
    <>
      <ol class="events">
        {newest.map((entry, index) => (
          <li key={`${entry.at} ${entry.by} ${index}`}>
            <time dateTime={entry.at} title={entry.at}>
              {clockText(entry.at)}
            </time>
            <span class="tag">{entry.by}</span>
            <div>
              <p>
                {!isOfOne && (
                  <>
                    <Link to={historyPath(entry.kind, entry.name)}>{entry.name}</Link>{' '}
                  </>
                )}
                <strong>{entry.what}</strong> {entry.text}
              </p>
              {entry.reason !== undefined && (
                <p>
                  <code>{entry.reason.code}</code> {entry.reason.message}
                  {entry.reason.fix !== '' && <span class="fix">fix: {entry.reason.fix}</span>}
                </p>
              )}
              {(entry.causes ?? []).length > 0 && (
                <p class="muted">
                  after{' '}
                  {(entry.causes ?? [])
                    .map((cause) => `${cause.kind} ${cause.name} ${cause.deleted === true ? 'was deleted' : 'changed'}`)
                    .join(', ')}
                </p>
              )}
              {entry.kind === 'Service' && (
                <p class="small">
                  <Link to={withQuery('/history', query, { kind: 'Service', name: entry.name, at: entry.at })}>Its path at that time</Link>
                </p>
              )}
            </div>
          </li>
        ))}
      </ol>
      {entries.length > listed && <p class="muted">{entries.length - listed} earlier events of this part: zoom in to list them.</p>}
    </>
  );
}
