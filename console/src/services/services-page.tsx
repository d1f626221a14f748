import { useMemo } from 'preact/hooks';
import { consolePaths, serviceOutcomes, type ServiceRow, type ServicesView } from '../../../src/console/contract.ts';
import { Link } from '../parts/link.tsx';
import { Mark, Outcome, outcomes } from '../parts/mark.tsx';
import { servicesExample } from '../parts/examples.ts';
import { Answered, Example, Message } from '../parts/message.tsx';
import { Notes } from '../parts/notes.tsx';
import { VirtualRows } from '../parts/virtual-rows.tsx';
import { useAnswer } from '../state/answer.ts';
import { useNarrow } from '../state/narrow.ts';
import { useLink } from '../state/pulse.ts';
import { servicePath, setQuery } from '../state/url.ts';
import {
  byGravity,
  conditionTypes,
  countOutcomes,
  filterOf,
  searchable,
  select,
  valuesOf,
  type Filter,
  type Searchable,
} from './filter.ts';

export function ServicesPage({ query }: { readonly query: URLSearchParams }) {
  const { pulse } = useLink();
  const answer = useAnswer<ServicesView>(consolePaths.services, pulse.versions.services ?? '');
  return (
    <div class="page full">
      <h1 class="hidden">Services</h1>
      <Answered answer={answer}>{(view) => <Services view={view} filter={filterOf(query)} />}</Answered>
    </div>
  );
}

function Services({ view, filter }: { readonly view: ServicesView; readonly filter: Filter }) {
  const { rows, lines, notes, from } = view;
  const all = useMemo(() => searchable(view), [rows]);
  const found = useMemo(() => byGravity(select(all, filter)), [all, ...Object.values(filter)]);
  const isNarrow = useNarrow();
  if (rows.length === 0) {
    return (
      <>
        <Notes notes={notes} />
        <Message title="There is no Service of type LoadBalancer">
          <p>
            Nothing in {from} asks for an address. A Service with <code>type: LoadBalancer</code> appears here as soon as it exists:
          </p>
          <Example manifests={servicesExample} />
        </Message>
      </>
    );
  }
  return (
    <>
      <Notes notes={notes} />
      <Outcomes all={all} filter={filter} />
      <Filters rows={rows} filter={filter} />
      <p class="count" role="status">
        {found.length === rows.length ? `${numeral(rows.length)} Services` : `${numeral(found.length)} of ${numeral(rows.length)} Services`}
        <span class="muted"> in {from}</span>
      </p>
      {found.length === 0 ? (
        <Message title="No Service matches">
          <p>
            <button type="button" onClick={() => setQuery(nothing)}>
              Show all Services
            </button>
          </p>
        </Message>
      ) : (
        <VirtualRows
          rows={found}
          label="Services"
          class="services"
          rowHeight={isNarrow ? 84 : 44}
          keyOf={({ namespace, name }) => `${namespace}/${name}`}
          head={heads.map((title) => (
            <span key={title} role="columnheader">
              {title}
            </span>
          ))}
          row={(row) => <Row row={row} lines={lines} />}
        />
      )}
    </>
  );
}

const heads = ['State', 'Service', 'Address', 'Pool', 'Conditions', 'First cause and fix'];
const nothing = { q: '', outcome: '', namespace: '', pool: '', reason: '', condition: '' };

function Row({ row, lines }: { readonly row: ServiceRow; readonly lines: readonly string[] }) {
  const { namespace, name, outcome, addresses, pool, conditions, reason, line } = row;
  const sentence = line === undefined ? '' : (lines[line] ?? '');
  const [first = '', ...others] = addresses;
  return (
    <>
      <span role="cell" class="outcome-cell" title={serviceOutcomes[outcome].words}>
        <Outcome outcome={outcome} />
      </span>
      <span role="cell" class="name">
        <Link to={servicePath(`${namespace}/${name}`)}>
          <span class="muted">{namespace}/</span>
          {name}
        </Link>
      </span>
      <span role="cell" class="address" title={addresses.join(', ')}>
        {first === '' ? <span class="muted">none</span> : first}
        {others.length > 0 && <span class="muted"> +{others.length}</span>}
      </span>
      <span role="cell" class="pool">
        {pool ?? <span class="muted">-</span>}
      </span>
      <span role="cell" class="conditions">
        <Conditions letters={conditions} />
      </span>
      <span role="cell" class="cause" title={sentence}>
        {reason !== undefined && <code>{reason}</code>} {sentence}
      </span>
    </>
  );
}

const healthOfLetter = { T: 'good', F: 'bad', U: 'unknown' } as const;
const wordOfLetter: Readonly<Record<string, string>> = { T: 'True', F: 'False', U: 'Unknown' };

/** One mark for each condition, in the order in which a Service gets them. */
function Conditions({ letters }: { readonly letters: string }) {
  return (
    <span class="pips">
      {conditionTypes.map((type, index) => {
        const letter = letters.charAt(index);
        const health = letter in healthOfLetter ? healthOfLetter[letter as keyof typeof healthOfLetter] : 'off';
        const said = `${type} ${wordOfLetter[letter] ?? 'not set'}`;
        return (
          <span key={type} title={said}>
            <Mark health={health} label={said} />
          </span>
        );
      })}
    </span>
  );
}

/** How many Services have each outcome. Each is a filter. */
function Outcomes({ all, filter }: { readonly all: Searchable; readonly filter: Filter }) {
  const counts = useMemo(() => countOutcomes(select(all, filter, 'outcome')), [all, ...Object.values(filter)]);
  return (
    <div class="outcomes" role="group" aria-label="Services by state">
      {outcomes.map((outcome) => {
        const isChosen = filter.outcome === outcome;
        const { words, health } = serviceOutcomes[outcome];
        return (
          <button
            key={outcome}
            type="button"
            class={`outcome ${health}${counts[outcome] === 0 ? ' empty' : ''}`}
            aria-pressed={isChosen}
            onClick={() => setQuery({ outcome: isChosen ? '' : outcome })}
          >
            <Mark health={health} />
            <strong>{numeral(counts[outcome])}</strong>
            <span>{words}</span>
          </button>
        );
      })}
    </div>
  );
}

function Filters({ rows, filter }: { readonly rows: readonly ServiceRow[]; readonly filter: Filter }) {
  const choices = useMemo(
    () => ({
      namespace: valuesOf(rows, ({ namespace }) => namespace),
      pool: valuesOf(rows, ({ pool }) => pool),
      reason: valuesOf(rows, ({ reason }) => reason),
      condition: conditionTypes.flatMap((type) => ['True', 'False', 'Unknown'].map((status) => `${type}=${status}`)),
    }),
    [rows],
  );
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label class="search">
        <span class="hidden">Search</span>
        <input
          type="search"
          placeholder="Search name, address, pool or reason"
          value={filter.text}
          onInput={({ currentTarget }) => setQuery({ q: currentTarget.value })}
        />
      </label>
      {(['namespace', 'pool', 'reason', 'condition'] as const).map((name) => (
        <label key={name}>
          <span class="hidden">{name}</span>
          <select value={filter[name]} onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}>
            <option value="">Any {name}</option>
            {choices[name].map((value) => (
              <option key={value} value={value}>
                {value}
              </option>
            ))}
          </select>
        </label>
      ))}
    </form>
  );
}

function numeral(count: number): string {
  return count.toLocaleString('en').replaceAll(',', '\u202F');
}
