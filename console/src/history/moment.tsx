import { useMemo } from 'preact/hooks';
import type { MomentView } from '../../../src/console/contract.ts';
import { Diagram, type Arrow } from '../parts/diagram.tsx';
import { healthWords, Mark } from '../parts/mark.tsx';
import { clockText } from '../state/time.ts';

/** The path of a Service at a moment, as far as running processes recorded it. */
export function Moment({ moment, onClose }: { readonly moment: MomentView; readonly onClose: () => void }) {
  const { at, peers, nodes, routes, controller, gaps } = moment;
  const arrows = useMemo(
    () =>
      routes.map(({ peer, node, health, words }): Arrow => ({
        id: `${node} ${peer}`,
        from: `peer ${peer}`,
        to: `node ${node}`,
        health,
        title: `${peer} and ${node}: ${words}`,
      })),
    [routes],
  );
  return (
    <section class="card" aria-labelledby="moment">
      <div class="card-head">
        <h2 id="moment">Its path at {clockText(at)}, as far as recorded</h2>
        <div class="tools">
          <button type="button" class="quiet" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
      {controller.map(({ at: then, what, text }) => (
        <p key={what} class="small">
          {clockText(then)} controller: <strong>{what}</strong> {text}
        </p>
      ))}
      {nodes.length === 0 ? (
        <p class="muted">No node had recorded anything of it by then.</p>
      ) : (
        <Diagram class="fabric" arrows={arrows} onChoose={() => undefined}>
          <div class="column">
            <h3>Routers</h3>
            {peers.length === 0 && <div class="box off">no router had a route</div>}
            {peers.map((peer) => (
              <div key={peer} class="box" data-box={`peer ${peer}`}>
                <strong>{peer}</strong>
              </div>
            ))}
          </div>
          <div class="column">
            <h3>Nodes</h3>
            {nodes.map(({ node, health, words }) => (
              <div key={node} class={`box ${health}`} data-box={`node ${node}`}>
                <p class="line">
                  <Mark health={health} label={healthWords[health]} />
                  <strong>{node}</strong>
                </p>
                {words.map(({ at: then, what, text }) => (
                  <p key={what} class="small">
                    {clockText(then)} {what}: {text}
                  </p>
                ))}
              </div>
            ))}
          </div>
        </Diagram>
      )}
      <ul class="planned">
        {routes.map(({ peer, node, health, words }) => (
          <li key={`${node} ${peer}`}>
            <Mark health={health} label={healthWords[health]} />
            <span>
              {peer} and {node}: {words}
            </span>
          </li>
        ))}
      </ul>
      {gaps.map((gap) => (
        <p key={gap} class="muted">
          {gap}
        </p>
      ))}
    </section>
  );
}
