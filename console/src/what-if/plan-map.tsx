import { useMemo } from 'preact/hooks';
import type { PlanMap } from '../../../src/console/contract.ts';
import { Diagram, type Arrow } from '../parts/diagram.tsx';
import { Mark } from '../parts/mark.tsx';

/** Routers and nodes between which sessions or routes change. The list below the map has the same as text. */
export function PlanDrawing({ map }: { readonly map: PlanMap }) {
  const { peers, nodes, links } = map;
  const arrows = useMemo(
    () =>
      links.map(({ peer, node, health, words }): Arrow => ({
        id: `${node} ${peer}`,
        from: `peer ${peer}`,
        to: `node ${node}`,
        health,
        title: `${peer} and ${node}: ${words.join(', ')}`,
      })),
    [links],
  );
  return (
    <>
      <Diagram class="fabric" arrows={arrows} onChoose={() => undefined}>
        <Column title="Routers" kind="peer" names={peers} />
        <Column title="Nodes" kind="node" names={nodes} />
      </Diagram>
      <ul class="planned">
        {links.map(({ peer, node, health, words }) => (
          <li key={`${node} ${peer}`}>
            <Mark health={health} label={signWords[health]} />
            <span>
              {peer} and {node}: {words.join(', ')}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

const signWords = { good: 'no interruption', bad: 'interrupted', doubtful: 'routes change', unknown: '', off: '' } as const;

function Column({ title, kind, names }: { readonly title: string; readonly kind: string; readonly names: readonly string[] }) {
  return (
    <div class="column">
      <h3>{title}</h3>
      {names.map((name) => (
        <div key={name} class="box" data-box={`${kind} ${name}`}>
          <strong>{name}</strong>
        </div>
      ))}
    </div>
  );
}
