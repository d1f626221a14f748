import type { FabricView } from '../../../src/console/contract.ts';
import { Mark } from '../parts/mark.tsx';

const listed = 8;

/** For each network with addresses that nodes announce by ARP or NDP: the nodes that answer, and for which addresses. */
export function Segments({ segments }: Pick<FabricView, 'segments'>) {
  return (
    <section class="card" aria-labelledby="segments">
      <div class="card-head">
        <h2 id="segments">Addresses answered by ARP and NDP</h2>
      </div>
      {segments.map(({ segment, owners }) => (
        <div key={segment}>
          <h3>{segment === '' ? 'no link of any node' : segment}</h3>
          <ul class="planned">
            {owners.map(({ node, addresses }) => (
              <li key={node}>
                <Mark health={node === '' ? 'bad' : 'good'} label={node === '' ? 'has a problem' : 'works'} />
                <span>
                  {node === '' ? 'no node answers' : `${node} answers`} for {addresses.slice(0, listed).join(', ')}
                  {addresses.length > listed && ` and ${addresses.length - listed} more`}
                </span>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}
