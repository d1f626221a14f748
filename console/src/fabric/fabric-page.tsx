import { useMemo } from 'preact/hooks';
import { consolePaths, serviceOutcomes, type FabricView, type Health, type ServiceOutcome } from '../../../src/console/contract.ts';
import { Link } from '../parts/link.tsx';
import { Mark, Outcome, outcomes } from '../parts/mark.tsx';
import { peerExample } from '../parts/examples.ts';
import { Answered, Example, Message } from '../parts/message.tsx';
import { Notes } from '../parts/notes.tsx';
import { useAnswer } from '../state/answer.ts';
import { useLink } from '../state/pulse.ts';
import { historyPath, servicePath, setQuery } from '../state/url.ts';
import { Clouds } from './clouds.tsx';
import { GroupMap } from './group-map.tsx';
import { FabricMap } from './map.tsx';
import { Matrix } from './matrix.tsx';
import { Segments } from './segments.tsx';
import { Sessions } from './sessions.tsx';

export function FabricPage({ query }: { readonly query: URLSearchParams }) {
  const { pulse } = useLink();
  const answer = useAnswer<FabricView>(consolePaths.fabric, pulse.versions.fabric ?? '');
  return (
    <div class="page">
      <h1 class="hidden">Fabric</h1>
      <Answered answer={answer}>{(view) => <Fabric view={view} chosen={query.get('session') ?? ''} />}</Answered>
    </div>
  );
}

function Fabric({ view, chosen }: { readonly view: FabricView; readonly chosen: string }) {
  const { notes, nodes, peers, groups, segments, clouds, sessions, problems, counts, controller, from } = view;
  const choose = (id: string): void => setQuery({ session: id === chosen ? '' : id });
  const session = useMemo(() => sessions.find(({ node, peer }) => `${node} ${peer}` === chosen), [sessions, chosen]);
  if (nodes.length === 0 && peers.length === 0) {
    return (
      <>
        <Notes notes={notes} />
        <Message title="There are no nodes and no routers">
          <p>{from} has neither a Node nor a BGPPeer. They appear here as soon as they exist. A router, with its address and AS number:</p>
          <Example manifests={peerExample} />
        </Message>
      </>
    );
  }
  return (
    <>
      <Notes notes={notes} />
      <dl class="figures">
        <Figure
          title="Sessions up"
          value={`${counts.sessions.established} of ${counts.sessions.expected}`}
          health={counts.sessions.established === counts.sessions.expected ? 'good' : 'bad'}
        />
        <Figure
          title="Nodes that report"
          value={`${counts.nodes.reporting} of ${counts.nodes.total}`}
          health={counts.nodes.reporting === counts.nodes.total ? 'good' : 'bad'}
        />
        <Figure title="Services served" value={`${counts.outcomes.served} of ${counts.services}`} health={worstOf(counts.outcomes)} />
        {controller !== undefined && (
          <Figure
            title="Leading controller"
            value={controller.holder === '' ? 'none' : controller.holder}
            health={controller.holder === '' ? 'bad' : 'good'}
          />
        )}
      </dl>
      {problems.length > 0 && (
        <section class="card" aria-labelledby="problems">
          <div class="card-head">
            <h2 id="problems">
              {problems.length} {problems.length === 1 ? 'problem' : 'problems'}
            </h2>
          </div>
          <ul class="problems">
            {problems.map(({ object, code, line, outcome, others = [] }) => (
              <li key={`${object} ${code}`}>
                <Mark health={healthOfProblem(outcome)} />
                <div>
                  <p>
                    <ObjectName object={object} />
                    {others.length > 0 && <span class="muted"> and {others.length} more</span>} <code>{code}</code>{' '}
                    {outcome !== undefined && <Outcome outcome={outcome} />}
                  </p>
                  <p>{line}</p>
                </div>
              </li>
            ))}
          </ul>
        </section>
      )}
      <section class="card" aria-labelledby="map">
        <div class="card-head">
          <h2 id="map">{groups.length > 0 ? 'Routers, and boxes of alike nodes' : 'Routers, sessions and nodes'}</h2>
        </div>
        {groups.length > 0 ? (
          <>
            <GroupMap peers={peers} groups={groups} />
            <Matrix view={view} onChoose={choose} />
          </>
        ) : (
          <FabricMap view={view} chosen={chosen} onChoose={choose} />
        )}
        {session !== undefined && (
          <div class="gap chosen" role="status">
            <h3>
              {session.node}, {session.peer}
            </h3>
            <p>{session.words}</p>
            {session.why !== undefined && <p>{session.why}</p>}
            <p>
              <Link to={historyPath('BGPPeer', session.peer)}>What happened to the sessions with {session.peer}</Link>
            </p>
          </div>
        )}
      </section>
      {segments.length > 0 && <Segments segments={segments} />}
      {clouds.length > 0 && <Clouds clouds={clouds} />}
      {groups.length === 0 && <Sessions sessions={sessions} at={view.at} />}
    </>
  );
}

/** What keeps a served Service from being whole, such as a health check, is a problem as well. */
function healthOfProblem(outcome: ServiceOutcome | undefined): Health {
  if (outcome === undefined) return 'bad';
  const { health } = serviceOutcomes[outcome];
  return health === 'good' ? 'doubtful' : health;
}

/** The health of the worst outcome that some Service has. */
function worstOf(counts: FabricView['counts']['outcomes']): Health {
  const worst = outcomes.find((outcome) => counts[outcome] > 0 && serviceOutcomes[outcome].health !== 'off');
  return worst === undefined ? 'good' : serviceOutcomes[worst].health;
}

function Figure({ title, value, health }: { readonly title: string; readonly value: string; readonly health: Health }) {
  return (
    <div class={`figure ${health}`}>
      <dt>{title}</dt>
      <dd>
        <Mark health={health} />
        {value}
      </dd>
    </div>
  );
}

function ObjectName({ object }: { readonly object: string }) {
  const service = /^Service\/(.+)$/.exec(object)?.[1];
  return service === undefined ? <strong>{object}</strong> : <Link to={servicePath(service)}>{object}</Link>;
}
