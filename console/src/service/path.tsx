import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import type { PathArrow, PathEndpointNode, ServicePath, Why } from '../../../src/console/contract.ts';
import { Diagram, type Arrow } from '../parts/diagram.tsx';
import { healthWords, Mark } from '../parts/mark.tsx';

/** The way from clients to the pods. What is missing is listed below with the reason and the fix. */
export function Path({ path }: { readonly path: ServicePath }) {
  const [chosen, setChosen] = useState<string>();
  const { addresses, balancing, unmet, routers, nodes, endpoints, routes, forwarding } = path;
  const arrows = arrowsOf(path);
  const gaps = gapsOf(path);
  return (
    <section class="card" aria-labelledby="path">
      <div class="card-head">
        <h2 id="path">Path from the client to the pods</h2>
        <span class="muted">{balancing.join('; ')}</span>
      </div>
      <Diagram class="path" arrows={arrows} {...(chosen === undefined ? {} : { chosen })} onChoose={setChosen}>
        <div class="column">
          <h3>Clients connect to</h3>
          <div class="box address" data-box="clients">
            {addresses.length === 0 && (
              <p class="bad line">
                <Mark health="bad" /> no address
              </p>
            )}
            {addresses.map(({ text, pool, ports }) => (
              <div key={text}>
                <p>
                  <strong class="mono">{text}</strong>
                  {pool !== undefined && <span class="muted"> pool {pool}</span>}
                </p>
                <p class="ports">
                  {ports.map(({ name, health, line }) => (
                    <span key={name} class="line" title={line}>
                      <Mark health={health} label={line} />
                      <span class="mono">{name}</span>
                    </span>
                  ))}
                </p>
              </div>
            ))}
          </div>
        </div>
        <div class="column">
          <h3>Routers and links</h3>
          {routers.length === 0 && <div class="box off">none has the address</div>}
          {routers.map(({ id, name, detail, health, sessions }) => (
            <div key={id} class={`box ${health}`} data-box={id}>
              <p class="line">
                <Mark health={health} label={healthWords[health]} />
                <strong>{name}</strong>
                <span class="muted">{detail}</span>
              </p>
              {sessions.map((session) => (
                <p key={session.peer} class={`line session ${session.health}`}>
                  {sessions.length > 1 && <Mark health={session.health} label={healthWords[session.health]} />}
                  <span class="muted">
                    {sessions.length > 1 && `${session.peer} `}
                    <span class="mono">{session.address}</span>
                  </span>
                </p>
              ))}
            </div>
          ))}
        </div>
        <div class="column">
          <h3>Nodes</h3>
          {nodes.length === 0 && <div class="box off">there is no node</div>}
          {nodes.map(({ id, names, health, detail }) => (
            <div key={id} class={`box ${health}`} data-box={id}>
              <p class="line">
                <Mark health={health} label={healthWords[health]} />
                <strong>{namesText(names)}</strong>
              </p>
              <p class="muted">{detail}</p>
            </div>
          ))}
        </div>
        <div class="column">
          <h3>Endpoints</h3>
          <div class={`box ${endpoints.ready > 0 ? 'good' : 'bad'}`} data-box="endpoints">
            <p class="line">
              <Mark health={endpoints.ready > 0 ? 'good' : 'bad'} />
              <strong>{endpoints.ready} ready</strong>
            </p>
            {endpoints.terminating > 0 && <p>{endpoints.terminating} terminating but serving</p>}
            {endpoints.unusable > 0 && <p class="bad">{endpoints.unusable} not usable</p>}
            {endpoints.nodes.map((node) => (
              <EndpointsOfNode key={node.node} of={node} />
            ))}
            {endpoints.moreNodes > 0 && <p class="muted">and {endpoints.moreNodes} more nodes</p>}
          </div>
        </div>
      </Diagram>
      <ul class="hidden">
        {[...routes, ...forwarding].map(({ from, to, health, label }) => (
          <li key={`${from} ${to}`}>{`${nameOf(from)} to ${nameOf(to)}: ${healthWords[health]} ${label}`}</li>
        ))}
      </ul>
      {unmet !== undefined && <Gap title="Address" whys={[unmet]} isChosen={false} />}
      {foldedGaps(gaps).map(([first, ...others]) => (
        <Fragment key={first.id}>
          <Gap title={first.title} whys={first.whys} isChosen={chosen === first.id} />
          {others.length > 0 && (
            <details class="alike" open={others.some(({ id }) => id === chosen)}>
              <summary>
                {others.length} more of this kind: {others.map(({ title }) => title).join('; ')}
              </summary>
              {others.map(({ id, title, whys }) => (
                <Gap key={id} title={title} whys={whys} isChosen={chosen === id} />
              ))}
            </details>
          )}
        </Fragment>
      ))}
    </section>
  );
}

/** The endpoints of a node, each with the last look at it. */
function EndpointsOfNode({ of: { node, health, endpoints, summary } }: { readonly of: PathEndpointNode }) {
  return (
    <div class="endpoints">
      <p class={`line ${health}`}>
        {endpoints.length === 0 && <Mark health={health} label={healthWords[health]} />}
        <span>{node === '' ? 'on no known node' : node}</span>
      </p>
      {summary !== '' && <p class="muted">{summary}</p>}
      {endpoints.map(({ address, health: own, look }) => (
        <p key={address} class={`line ${own}`}>
          <Mark health={own} label={healthWords[own]} />
          <span>
            <span class="mono">{address}</span> <span class="muted">{look}</span>
          </span>
        </p>
      ))}
    </div>
  );
}

function arrowsOf({ routers, routes, forwarding }: ServicePath): readonly Arrow[] {
  const led = routers.map(({ id, health, name }): Arrow => ({ id: `clients ${id}`, from: 'clients', to: id, health, title: name }));
  return [...led, ...[...routes, ...forwarding].map(arrowOf)];
}

function arrowOf({ from, to, health, label, whys }: PathArrow): Arrow {
  return {
    id: `${from} ${to}`,
    from,
    to,
    health,
    title: [label, ...whys.map(({ text }) => text)].filter((part) => part !== '').join('\n'),
  };
}

interface GapInPath {
  readonly id: string;
  readonly title: string;
  readonly whys: readonly Why[];
}

/** Returns what is missing or wrong, each reason once, with every place where it applies. */
function gapsOf({ nodes, routes, forwarding, endpoints }: ServicePath): readonly GapInPath[] {
  const arrows = [...routes.filter(({ health }) => health !== 'off'), ...forwarding];
  const places: readonly Place[] = [
    ...arrows.map(({ from, to, whys }) => ({ id: `${from} ${to}`, from: nameOf(from), to: nameOf(to), whys })),
    ...nodes.map(({ id, names, whys }) => ({ id, from: '', to: namesText(names), whys })),
    { id: 'endpoints', from: '', to: 'endpoints', whys: endpoints.whys },
  ];
  const byReason = Map.groupBy(
    places.filter(({ whys }) => whys.length > 0),
    ({ whys }) => JSON.stringify(whys.map(({ text }) => text)),
  );
  return [...byReason.values()].flatMap((alike) => alike.slice(0, 1).map(({ id, whys }) => ({ id, title: placesText(alike), whys })));
}

/** Puts gaps with the same reasons, such as several sessions of one router that are down, behind the first of them. */
function foldedGaps(gaps: readonly GapInPath[]): readonly (readonly [GapInPath, ...GapInPath[]])[] {
  const alike = Map.groupBy(gaps, ({ whys }) => whys.map(({ code }) => code).join(' '));
  return [...alike.values()].flatMap(([first, ...others]) => (first === undefined ? [] : [[first, ...others] as const]));
}

interface Place {
  readonly id: string;
  /** "" for a box. */
  readonly from: string;
  readonly to: string;
  readonly whys: readonly Why[];
}

/** "tor1 to node1, node2; node3". */
function placesText(places: readonly Place[]): string {
  const parts = [...Map.groupBy(places, ({ from }) => from)].map(([from, some]) => {
    const ends = [...new Set(some.map(({ to }) => to))].join(', ');
    return from === '' ? ends : `${from} to ${ends}`;
  });
  return parts.join('; ');
}

function Gap({ title, whys, isChosen }: { readonly title: string; readonly whys: readonly Why[]; readonly isChosen: boolean }) {
  return (
    <div class={isChosen ? 'gap chosen' : 'gap'}>
      <h3>{title}</h3>
      {whys.map(({ code, text, fix }) => (
        <p key={text}>
          <code>{code}</code> {text}
          {fix !== '' && <span class="fix">fix: {fix}</span>}
        </p>
      ))}
    </div>
  );
}

const shownNames = 3;

function namesText(names: readonly string[]): string {
  const more = names.length - shownNames;
  return `${names.slice(0, shownNames).join(', ')}${more > 0 ? ` and ${more} alike` : ''}`;
}

const nameOf = (id: string): string => id.replace(/^(?:node|peer|link) /, '');
