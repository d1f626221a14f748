import { useMemo } from 'preact/hooks';
import type { FabricView } from '../../../src/console/contract.ts';
import { Diagram, type Arrow } from '../parts/diagram.tsx';
import { healthWords, Mark } from '../parts/mark.tsx';

interface Props {
  readonly view: FabricView;
  readonly chosen: string;
  readonly onChoose: (id: string) => void;
}

/** Routers on the left, nodes on the right, and a line for each session. */
export function FabricMap({ view, chosen, onChoose }: Props) {
  const { nodes, peers, sessions } = view;
  const arrows = useMemo(
    () =>
      sessions.map(({ node, peer, health, words, why = '' }): Arrow => ({
        id: `${node} ${peer}`,
        from: `peer ${peer}`,
        to: `node ${node}`,
        health,
        title: why === '' ? words : `${words}\n${why}`,
      })),
    [sessions],
  );
  return (
    <Diagram class="fabric" arrows={arrows} chosen={chosen} onChoose={onChoose}>
      <div class="column">
        <h3>Routers</h3>
        {peers.length === 0 && <div class="box off">there is no BGPPeer</div>}
        {peers.map(({ peer, addresses, asns, health }) => (
          <div key={peer} class={`box ${health}`} data-box={`peer ${peer}`}>
            <p class="line">
              <Mark health={health} label={healthWords[health]} />
              <strong>{peer}</strong>
            </p>
            <p class="muted">
              {addresses.length === 1 ? addresses[0] : `${addresses.length} addresses`}
              {asns.length === 1 && `, AS ${asns[0]}`}
            </p>
          </div>
        ))}
      </div>
      <div class="column">
        <h3>Nodes</h3>
        {nodes.map(({ node, health, lines, draining, l2 }) => (
          <div key={node} class={`box ${health}`} data-box={`node ${node}`} title={lines.join('\n')}>
            <p class="line">
              <Mark health={health} label={healthWords[health]} />
              <strong>{node}</strong>
              {draining !== undefined && <span class="tag">{draining}</span>}
            </p>
            {l2 !== undefined && (
              <p class="muted">
                answers ARP, NDP for {l2.owned}; links {l2.links}
              </p>
            )}
            {lines.map((line) => (
              <p key={line} class="small">
                {line}
              </p>
            ))}
          </div>
        ))}
      </div>
    </Diagram>
  );
}
