import { useMemo, useState } from 'preact/hooks';
import { consolePaths, type OutsideBox, type OutsideView } from '../../../src/console/contract.ts';
import { Diagram, type Arrow } from '../parts/diagram.tsx';
import { Link } from '../parts/link.tsx';
import { healthWords, Mark } from '../parts/mark.tsx';
import { useAnswer } from '../state/answer.ts';
import { useLink } from '../state/pulse.ts';
import { useNow } from '../state/time.ts';
import { servicePath } from '../state/url.ts';

/** The server reads resources outside the cluster again at most this often. */
const askMilliseconds = 5000;

const columns: readonly { readonly kind: OutsideBox['kind']; readonly title: string; readonly noun: string }[] = [
  { kind: 'loadBalancer', title: 'Load balancers', noun: 'load balancers' },
  { kind: 'listener', title: 'Listeners', noun: 'listeners' },
  { kind: 'targetGroup', title: 'Target groups', noun: 'target groups' },
  { kind: 'target', title: 'Targets', noun: 'targets' },
];

/** Load balancers outside the cluster, their listeners, target groups and targets, with a line for each way that connections take. */
export function OutsideMap() {
  const { pulse } = useLink();
  const version = `${pulse.versions.fabric ?? ''} ${Math.floor(useNow() / askMilliseconds)}`;
  const { data, problem } = useAnswer<OutsideView>(consolePaths.outside, version);
  if (data === undefined) return problem === undefined ? null : <p class="muted">{problem.error}</p>;
  return (
    <>
      {data.boxes.length > 0 && <Drawing view={data} />}
      {data.notes.map((note) => (
        <p key={note} class="muted">
          {note}
        </p>
      ))}
    </>
  );
}

function Drawing({ view: { boxes, arrows } }: { readonly view: OutsideView }) {
  const [chosen, setChosen] = useState('');
  const byId = useMemo(() => new Map(boxes.map((box) => [box.id, box])), [boxes]);
  const nameOf = (id: string): string => {
    const box = byId.get(id);
    return box === undefined ? id : titleOf(box);
  };
  const drawn = useMemo(
    () =>
      arrows.map(({ from, to, health }): Arrow => ({
        id: `${from} ${to}`,
        from,
        to,
        health,
        title: `${nameOf(from)} to ${nameOf(to)}: ${byId.get(to)?.why ?? healthWords[health]}`,
      })),
    [arrows, byId],
  );
  const box = byId.get(chosen);
  return (
    <>
      <Diagram class="outside" arrows={drawn} onChoose={(id) => setChosen(arrows.find(({ from, to }) => `${from} ${to}` === id)?.to ?? '')}>
        {columns.map(({ kind, title }) => (
          <div key={kind} class="column">
            <h3>{title}</h3>
            {boxes
              .filter((one) => one.kind === kind)
              .map((one) => (
                <button
                  key={one.id}
                  type="button"
                  class={`box ${one.health}`}
                  data-box={one.id}
                  title={one.why ?? one.names.join(', ')}
                  aria-pressed={one.id === chosen}
                  onClick={() => setChosen(one.id === chosen ? '' : one.id)}
                >
                  <span class="line">
                    <Mark health={one.health} label={healthWords[one.health]} />
                    <strong>{titleOf(one)}</strong>
                  </span>
                  {one.detail !== '' && <span class="muted">{one.detail}</span>}
                  {one.why !== undefined && <span class="small">{one.why}</span>}
                </button>
              ))}
          </div>
        ))}
      </Diagram>
      <ul class="hidden">
        {drawn.map(({ id, title }) => (
          <li key={id}>{title}</li>
        ))}
      </ul>
      {box !== undefined && <Chosen box={box} />}
    </>
  );
}

function Chosen({ box }: { readonly box: OutsideBox }) {
  const { names, count, services, why } = box;
  return (
    <div class="gap chosen" role="status">
      <h3>{titleOf(box)}</h3>
      {count > 1 && (
        <p>
          {names.join(', ')}
          {count > names.length && ` and ${count - names.length} more`}
        </p>
      )}
      {why !== undefined && <p>{why}</p>}
      <p>
        Serves{' '}
        {services.map((service) => (
          <span key={service}>
            <Link to={servicePath(service)}>{service}</Link>{' '}
          </span>
        ))}
      </p>
    </div>
  );
}

function titleOf({ kind, names, count }: OutsideBox): string {
  const [name = ''] = names;
  if (count === 1) return name;
  const noun = columns.find((one) => one.kind === kind)?.noun ?? '';
  return kind === 'listener' ? `${count} ${noun} ${name}` : `${count} ${noun}`;
}
