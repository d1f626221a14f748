import { useMemo, useState } from 'preact/hooks';
import type { FabricNode, FabricSession, FabricView } from '../../../src/console/contract.ts';
import { healthWords, Mark } from '../parts/mark.tsx';
import { VirtualRows } from '../parts/virtual-rows.tsx';

interface Props {
  readonly view: FabricView;
  readonly onChoose: (id: string) => void;
}

interface MatrixRow {
  readonly node: FabricNode;
  readonly sessions: ReadonlyMap<string, FabricSession>;
}

/** A row for each node and a column for each router. Nodes with a problem come first. */
export function Matrix({ view, onChoose }: Props) {
  const { nodes, peers, sessions } = view;
  const [isAll, setAll] = useState(true);
  const rows = useMemo(() => {
    const byNode = Map.groupBy(sessions, ({ node }) => node);
    const all = nodes.map((node): MatrixRow => ({ node, sessions: new Map((byNode.get(node.node) ?? []).map((one) => [one.peer, one])) }));
    return [...all.filter(hasProblem), ...all.filter((row) => !hasProblem(row))];
  }, [nodes, sessions]);
  const troubled = rows.filter(hasProblem);
  return (
    <>
      <p class="count">
        <label>
          <input type="checkbox" checked={!isAll} onChange={({ currentTarget }) => setAll(!currentTarget.checked)} /> only the{' '}
          {troubled.length} of {rows.length} nodes with a problem
        </label>
      </p>
      <VirtualRows
        rows={isAll ? rows : troubled}
        label="Sessions by node and router"
        class="matrix"
        rowHeight={36}
        keyOf={({ node }) => node.node}
        head={['Node', ...peers.map(({ peer }) => peer)].map((title) => (
          <span key={title} role="columnheader">
            {title}
          </span>
        ))}
        row={({ node, sessions: own }) => (
          <>
            <span role="rowheader" class={`line ${node.health}`} title={node.lines.join('\n')}>
              <Mark health={node.health} label={healthWords[node.health]} />
              {node.node}
            </span>
            {peers.map(({ peer }) => {
              const session = own.get(peer);
              return (
                <span key={peer} role="cell">
                  {session === undefined ? (
                    <span class="muted">-</span>
                  ) : (
                    <button
                      type="button"
                      class="bare"
                      title={session.why ?? session.words}
                      onClick={() => onChoose(`${node.node} ${peer}`)}
                    >
                      <Mark health={session.health} label={`${peer}: ${session.state ?? 'not reported'}`} />
                    </button>
                  )}
                </span>
              );
            })}
          </>
        )}
      />
    </>
  );
}

function hasProblem({ node, sessions }: MatrixRow): boolean {
  return node.health !== 'good' || [...sessions.values()].some(({ health }) => health !== 'good' && health !== 'off');
}
