import { useState } from 'preact/hooks';
import { consolePaths, type HistoryView, type ServicesView } from '../../../src/console/contract.ts';
import { Link } from '../parts/link.tsx';
import { Answered, Message } from '../parts/message.tsx';
import { useAnswer } from '../state/answer.ts';
import { useLink } from '../state/pulse.ts';
import { useNow } from '../state/time.ts';
import { go, historyPath, servicePath, setQuery } from '../state/url.ts';
import { Events } from './events.tsx';
import { Lanes } from './lanes.tsx';
import { Moment } from './moment.tsx';
import { moved, queryOf, windowOf, zoomed, type Window } from './window.ts';

const kinds = ['Service', 'BGPPeer', 'Node'] as const;

export function HistoryPage({ query }: { readonly query: URLSearchParams }) {
  const { pulse } = useLink();
  const kind = query.get('kind') ?? '';
  const name = query.get('name') ?? '';
  const asked = new URLSearchParams(kind === '' ? {} : { kind, ...(name === '' ? {} : { name }) });
  const at = query.get('at');
  if (name === '' && query.get('span') === 'all') asked.set('since', '1970-01-01T00:00:00Z');
  if (at !== null && kind === 'Service' && name !== '') asked.set('at', at);
  // The pulse comes with every change, and every few seconds: so the time line is live.
  const answer = useAnswer<HistoryView>(`${consolePaths.history}?${asked.toString()}`, pulse.at ?? '');
  return (
    <div class="page">
      <h1 class="hidden">History</h1>
      <Choice key={`${kind} ${name}`} kind={kind} name={name} />
      <Answered answer={answer}>{(view) => <History view={view} query={query} />}</Answered>
    </div>
  );
}

function Choice({ kind, name }: { readonly kind: string; readonly name: string }) {
  const { pulse } = useLink();
  const services = useAnswer<ServicesView>(consolePaths.services, pulse.versions.services ?? '');
  const [chosen, setChosen] = useState({ kind, name });
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        go(chosen.kind === '' ? '/history' : historyPath(chosen.kind, chosen.name.trim()));
      }}
    >
      <label>
        <span class="hidden">Kind</span>
        <select
          value={chosen.kind}
          onChange={({ currentTarget: { value } }) => {
            setChosen({ kind: value, name: '' });
            go(value === '' ? '/history' : historyPath(value, ''));
          }}
        >
          <option value="">Everything</option>
          {kinds.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <label class="search">
        <span class="hidden">Name</span>
        <input
          list="names"
          value={chosen.name}
          disabled={chosen.kind === ''}
          placeholder={chosen.kind === '' ? 'choose a kind to name one object' : chosen.kind === 'Service' ? 'namespace/name' : 'name'}
          onInput={({ currentTarget }) => setChosen({ ...chosen, name: currentTarget.value })}
        />
      </label>
      <datalist id="names">
        {chosen.kind === 'Service' &&
          services.data?.rows
            .slice(0, 500)
            .map(({ namespace, name: one }) => <option key={`${namespace}/${one}`} value={`${namespace}/${one}`} />)}
      </datalist>
      <button type="submit" disabled={chosen.kind === ''}>
        Show
      </button>
    </form>
  );
}

function History({ view, query }: { readonly view: HistoryView; readonly query: URLSearchParams }) {
  const { entries, told, unasked, left, moment } = view;
  const now = useNow();
  const kind = query.get('kind') ?? '';
  const name = query.get('name') ?? '';
  const first = entries[0];
  const all: Window = { from: first === undefined ? now - 60_000 : Date.parse(first.at), to: now };
  const shown = windowOf(query, all);
  const inside = entries.filter(({ at }) => Date.parse(at) >= shown.from && Date.parse(at) <= shown.to);
  const zoom = (part: Window): void => setQuery(queryOf(part));
  const isZoomed = query.has('from');
  return (
    <>
      {name !== '' && (
        <div class="title">
          <h2>{name}</h2>
          <span class="muted">{kind}</span>
          {kind === 'Service' && (
            <Link to={servicePath(name)} class="button">
              Its path now
            </Link>
          )}
        </div>
      )}
      {moment !== undefined && <Moment moment={moment} onClose={() => setQuery({ at: '' })} />}
      {entries.length === 0 ? (
        <Message title={told.length === 0 ? 'No process could be queried' : 'The queried processes know of nothing that happened to it'}>
          {unasked.map(({ who, why, fix }) => (
            <p key={who}>
              {who}: {why} <span class="fix">{fix}</span>
            </p>
          ))}
        </Message>
      ) : (
        <section class="card" aria-labelledby="events">
          <div class="card-head">
            <h2 id="events">What happened</h2>
            <span class="muted">
              {inside.length === entries.length ? `${entries.length} events` : `${inside.length} of ${entries.length} events`}
            </span>
            <div class="tools">
              <button type="button" class="quiet" onClick={() => zoom(moved(shown, -0.5))}>
                Earlier
              </button>
              <button type="button" class="quiet" onClick={() => zoom(moved(shown, 0.5))}>
                Later
              </button>
              <button type="button" class="quiet" onClick={() => zoom(zoomed(shown, 0.5))}>
                Zoom in
              </button>
              <button type="button" class="quiet" onClick={() => zoom(zoomed(shown, 2))}>
                Zoom out
              </button>
              <button type="button" class="quiet" disabled={!isZoomed} onClick={() => setQuery({ from: '', to: '' })}>
                All, up to now
              </button>
            </div>
          </div>
          {name === '' && (
            <p>
              <label>
                <input
                  type="checkbox"
                  checked={query.get('span') === 'all'}
                  onChange={({ currentTarget }) => setQuery({ span: currentTarget.checked ? 'all' : '' })}
                />{' '}
                older than an hour too
              </label>
            </p>
          )}
          {left > 0 && <p class="muted">{left} older events are left out: name one object.</p>}
          <Lanes entries={inside} shown={shown} onZoom={zoom} {...(moment === undefined ? {} : { at: Date.parse(moment.at) })} />
          <Events entries={inside} query={query} isOfOne={name !== ''} />
        </section>
      )}
      {entries.length > 0 &&
        unasked.map(({ who, why }) => (
          <p key={who} class="muted">
            not queried: {who}: {why}
          </p>
        ))}
      <p class="muted">
        {told
          .map(({ who, since, more }) => `${who} knows what happened since ${since}${more === true ? ', and more than was read' : ''}`)
          .join('. ')}
      </p>
    </>
  );
}
