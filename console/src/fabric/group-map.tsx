import { useMemo } from 'preact/hooks';
import type { FabricGroup, FabricPeer } from '../../../src/console/contract.ts';
import { limits } from '../../../src/console/limits.ts';
import { Diagram, type Arrow } from '../parts/diagram.tsx';
import { healthWords, Mark } from '../parts/mark.tsx';

/** Routers on the left, and a box for each kind of node: many nodes, and a line for all their sessions with a router. */
export function GroupMap({ peers, groups }: { readonly peers: readonly FabricPeer[]; readonly groups: readonly FabricGroup[] }) {
  const shown = groups.slice(0, limits.fabricGroups);
  const arrows = useMemo(
    () =>
      shown.flatMap(({ id, count, sessions }) =>
        sessions.map(({ peer, health, words }): Arrow => ({
          id: `${id} ${peer}`,
          from: `peer ${peer}`,
          to: `group ${id}`,
          health,
          title: `${peer} and ${count} ${count === 1 ? 'node' : 'nodes'}: ${words}`,
        })),
      ),
    [groups],
  );
  const named = new Set(shown.flatMap(({ sessions }) => sessions.map(({ peer }) => peer)));
  return (
    <>
      <Diagram class="fabric" arrows={arrows} onChoose={() => undefined}>
        <div class="column">
          <h3>Routers</h3>
          {peers
            .filter(({ peer }) => named.has(peer))
            .map(({ peer, health }) => (
              <div key={peer} class={`box ${health}`} data-box={`peer ${peer}`}>
                <p class="line">
                  <Mark health={health} label={healthWords[health]} />
                  <strong>{peer}</strong>
                </p>
              </div>
            ))}
        </div>
        <div class="column">
          <h3>Nodes that are alike</h3>
          {shown.map(({ id, names, count, health, lines, sessions }) => (
            <div key={id} class={`box ${health}`} data-box={`group ${id}`} title={names.join(', ')}>
              <p class="line">
                <Mark health={health} label={healthWords[health]} />
                <strong>{count === 1 ? id : `${count} nodes`}</strong>
                <span class="muted">{namesText(names, count)}</span>
              </p>
              {[...lines, ...sessions.filter((one) => one.health === 'bad').map(({ peer, words }) => `${peer}: ${words}`)].map((line) => (
                <p key={line} class="small">
                  {line}
                </p>
              ))}
            </div>
          ))}
        </div>
      </Diagram>
      {groups.length > shown.length && <p class="muted">{groups.length - shown.length} more kinds of nodes are in the table.</p>}
    </>
  );
}

function namesText(names: readonly string[], count: number): string {
  if (count === 1) return '';
  const [first, second] = names;
  return count === 2 ? `${first}, ${second}` : `${first}, ${second} and ${count - 2} more`;
}
