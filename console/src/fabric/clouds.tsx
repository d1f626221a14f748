import { serviceOutcomes, type FabricView } from '../../../src/console/contract.ts';
import { Link } from '../parts/link.tsx';
import { Mark } from '../parts/mark.tsx';
import { servicePath } from '../state/url.ts';
import { OutsideMap } from './outside-map.tsx';

const listed = 100;

/** Load balancers outside the cluster, drawn as far as they can be read, and the Services that they serve. */
export function Clouds({ clouds }: Pick<FabricView, 'clouds'>) {
  return (
    <section class="card" aria-labelledby="clouds">
      <div class="card-head">
        <h2 id="clouds">Load balancers outside the cluster</h2>
      </div>
      <OutsideMap />
      <ul class="problems">
        {clouds.slice(0, listed).map(({ service, hostnames, outcome, line }) => (
          <li key={service}>
            <Mark health={serviceOutcomes[outcome].health} />
            <div>
              <p>
                <Link to={servicePath(service)}>{service}</Link> {serviceOutcomes[outcome].words}{' '}
                <span class="mono">{hostnames.join(', ')}</span>
              </p>
              {line !== undefined && <p>{line}</p>}
            </div>
          </li>
        ))}
      </ul>
      {clouds.length > listed && <p class="muted">{clouds.length - listed} more are in the list of Services.</p>}
    </section>
  );
}
