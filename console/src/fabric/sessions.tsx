import type { FabricSession } from '../../../src/console/contract.ts';
import { healthWords, Mark } from '../parts/mark.tsx';
import { ageText, useNow } from '../state/time.ts';

/** The sessions as text: what the map draws, for the keyboard and screen readers, and for copying. */
export function Sessions({ sessions, at }: { readonly sessions: readonly FabricSession[]; readonly at: string }) {
  const now = useNow();
  if (sessions.length === 0) return null;
  return (
    <section class="card" aria-labelledby="sessions">
      <div class="card-head">
        <h2 id="sessions">Sessions</h2>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of sessions">
        <table>
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">Peer</th>
              <th scope="col">State</th>
              <th scope="col" class="number">
                For
              </th>
              <th scope="col" class="number">
                Routes sent
              </th>
              <th scope="col">BFD</th>
              <th scope="col">Why, and the fix</th>
            </tr>
          </thead>
          <tbody>
            {sessions.map(({ node, peer, address, state, health, since, prefixesSent, bfd, why, isLive }) => (
              <tr key={`${node} ${peer}`}>
                <td>{node}</td>
                <td>
                  {peer} <span class="muted mono">{address}</span>
                </td>
                <td class={`line ${health}`}>
                  <Mark health={health} label={healthWords[health]} />
                  {state ?? 'not reported'}
                </td>
                <td class="number">{since === undefined ? '' : ageText(since, Math.max(now, Date.parse(at)))}</td>
                <td class="number">{prefixesSent ?? ''}</td>
                <td>{bfd?.state ?? ''}</td>
                <td class="wide">
                  {why}
                  {!isLive && <span class="muted"> by its last report</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
