import type { LiveCheck, LiveEndpointCheck } from '../../live/contract.ts';
import { defined } from '../../lang/defined.ts';
import type { EndpointSlice } from '../../model/objects/endpoint-slice.ts';
import { formatAddress } from '../../net/address.ts';
import { secondsSince } from '../text/age.ts';

/** What a node last saw of connections to an endpoint. */
export interface EndpointLook {
  readonly node: string;
  /** answered: its last connection was. Otherwise it failed in this way, or no packet leaves for the endpoint (unroutable). */
  readonly result: 'answered' | 'refused' | 'silent' | 'dropped' | 'unroutable';
  /** Absent: the present state of a route, which has no time. */
  readonly secondsAgo?: number;
}

/** An address of an endpoint of a Service. Plain data. */
export interface LookedAtEndpoint {
  readonly address: string;
  /** Absent: the slice does not say. */
  readonly node?: string;
  readonly state: 'ready' | 'terminating' | 'unusable';
  /** At most one of each node, the latest result. Empty: no agent saw a connection in the last ten minutes. Absent: no agent was queried. */
  readonly looks?: readonly EndpointLook[];
}

/** Lists the endpoints of a Service with the last look of each agent that was queried. `now`: milliseconds since the epoch. */
export function lookedAtEndpoints(
  slices: readonly EndpointSlice[],
  live: ReadonlyMap<string, { readonly checks?: readonly LiveCheck[] }>,
  now: number,
): LookedAtEndpoint[] {
  const looks = looksByAddress(live, now);
  const isAsked = [...live.values()].some(({ checks }) => checks !== undefined);
  const found = new Map<string, LookedAtEndpoint>();
  for (const { address: at, ready, serving, terminating, nodeName: node } of slices.flatMap(({ endpoints }) => endpoints)) {
    const address = formatAddress(at);
    const state = ready ? 'ready' : serving && terminating ? 'terminating' : 'unusable';
    found.set(address, { address, ...defined({ node }), state, ...(isAsked ? { looks: looks.get(address) ?? [] } : {}) });
  }
  return [...found.values()];
}

function looksByAddress(
  live: ReadonlyMap<string, { readonly checks?: readonly LiveCheck[] }>,
  now: number,
): ReadonlyMap<string, readonly EndpointLook[]> {
  const looks = [...live].flatMap(([node, { checks = [] }]) =>
    checks.flatMap(({ endpoints }) =>
      endpoints.flatMap((check) => {
        const look = lookOf(node, check, now);
        return look === undefined ? [] : [{ address: addressOf(check.endpoint), look }];
      }),
    ),
  );
  const byAddress = Map.groupBy(looks, ({ address }) => address);
  return new Map([...byAddress].map(([address, some]) => [address, latestOfNodes(some.map(({ look }) => look))]));
}

/** An endpoint has a check for each port and each address of the Service. The latest tells of now. */
function latestOfNodes(looks: readonly EndpointLook[]): EndpointLook[] {
  const sorted = looks.toSorted((a, b) => (a.secondsAgo ?? 0) - (b.secondsAgo ?? 0));
  const latest = new Map(sorted.toReversed().map((look) => [look.node, look]));
  return [...latest.values()].toSorted((a, b) => (a.node < b.node ? -1 : 1));
}

function lookOf(node: string, check: LiveEndpointCheck, now: number): EndpointLook | undefined {
  if (check.way !== undefined) return { node, result: 'unroutable' };
  const results = (['answered', 'refused', 'silent', 'dropped'] as const).flatMap((result) => {
    const secondsAgo = secondsSince(check[result], now);
    return secondsAgo === undefined ? [] : [{ node, result, secondsAgo }];
  });
  return results.toSorted((a, b) => a.secondsAgo - b.secondsAgo)[0];
}

/** "fd00::1" of "[fd00::1]:8080". */
function addressOf(endpoint: string): string {
  return endpoint.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}
