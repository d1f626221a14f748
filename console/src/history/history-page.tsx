import { useState } from 'preact/hooks';
import { consolePaths, type HistoryView, type ServicesView } from '../../../src/console/contract.ts';
import { Link } from '../parts/link.tsx';
import { Answered, Message } from '../parts/message.tsx';
import { useAnswer } from '../state/answer.ts';
import { useLink } from '../state/pulse.ts';
import { clockText } from '../state/time.ts';
import { go, historyPath, servicePath } from '../state/url.ts';
import { Lanes } from './lanes.tsx';

const kinds = ['Service', 'BGPPeer', 'Node'] as const;

export function HistoryPage({ query }: { readonly query: URLSearchParams }) {
  const { pulse } = useLink();
  const kind = query.get('kind') ?? 'Service';
  const name = query.get('name') ?? '';
  const path = name === '' ? undefined : `${consolePaths.history}?${new URLSearchParams({ kind, name }).toString()}`;
  const answer = useAnswer<HistoryView>(path, JSON.stringify(pulse.versions));
  return (
    <div class="page">
      <h1 class="hidden">History</h1>
      <Choice key={`${kind} ${name}`} kind={kind} name={name} />
      {path === undefined ? (
        <Message title="Choose an object">
          <p>Running agents and controllers remember what happened to a Service, a router or a node, and why.</p>
        </Message>
      ) : (
        <Answered answer={answer}>{(view) => <History view={view} />}</Answered>
      )}
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
        go(historyPath(chosen.kind, chosen.name.trim()));
      }}
    >
      <label>
        <span class="hidden">Kind</span>
        <select value={chosen.kind} onChange={({ currentTarget }) => setChosen({ ...chosen, kind: currentTarget.value })}>
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
          placeholder={chosen.kind === 'Service' ? 'namespace/name' : 'name'}
          onInput={({ currentTarget }) => setChosen({ ...chosen, name: currentTarget.value })}
        />
      </label>
      <datalist id="names">
        {chosen.kind === 'Service' &&
          services.data?.rows
            .slice(0, 500)
            .map(({ namespace, name: one }) => <option key={`${namespace}/${one}`} value={`${namespace}/${one}`} />)}
      </datalist>
      <button type="submit" disabled={chosen.name.trim() === ''}>
        Show
      </button>
    </form>
  );
}

function History({ view }: { readonly view: HistoryView }) {
  const { kind, name, entries, told, unasked } = view;
  return (
    <>
      <div class="title">
        <h2>{name}</h2>
        <span class="muted">{kind}</span>
        {kind === 'Service' && (
          <Link to={servicePath(name)} class="button">
            Its path now
          </Link>
        )}
      </div>
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
          </div>
          <Lanes entries={entries} />
          <ol class="events">
            {[...entries].toReversed().map((entry, index) => (
              <li key={`${entry.at} ${entry.by} ${index}`}>
                <time dateTime={entry.at}>{clockText(entry.at)}</time>
                <span class="tag">{entry.by}</span>
                <div>
                  <p>
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
                </div>
              </li>
            ))}
          </ol>
        </section>
      )}
      <p class="muted">{told.map(({ who, since }) => `${who} knows what happened since ${since}`).join('. ')}</p>
    </>
  );
}
