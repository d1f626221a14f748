import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { SessionStatus } from '../../model/objects/node-state.ts';
import type { Address } from '../../net/address.ts';
import type { Frontend } from '../../net/frontend.ts';
import { formatPrefix, prefixContains } from '../../net/prefix.ts';
import type { Clock } from '../../system/clock.ts';
import { limits } from '../limits.ts';
import type { AnnouncedRoutes } from '../reconcile/announced-routes.ts';

interface RenewedRoutesSources {
  readonly sessions: () => readonly SessionStatus[];
  readonly routes: Pick<AnnouncedRoutes, 'announcement' | 'routesOf'>;
  /** True when this node announces the address by ARP or NDP as well. */
  readonly isOnLink: (address: Address) => boolean;
  readonly clock: Clock;
}

/** Returns the time, in milliseconds of the clock, from which answers at a frontend tell of now. */
export type CountsFrom = (service: ServiceKey, frontend: Pick<Frontend, 'match'>) => number;

/**
 * Reads the sessions and returns a function about frontends. Answers of before say little once every router that has the route has asked for all
 * routes again, has a new session, or has got the route anew: its policy may have changed. Without such a router, all answers count. Until
 * routers have acted on what replaces a route, answers still come by the old one.
 */
export function answersCountFrom({ sessions, routes, isOnLink, clock }: RenewedRoutesSources): CountsFrom {
  const offset = clock.now() - clock.date().getTime();
  const renewed = new Map(sessions().flatMap((session) => renewedAt(session, offset)));
  return (service, { match }) => {
    if (match.kind !== 'address' || isOnLink(match.address)) return Number.NEGATIVE_INFINITY;
    const { address } = match;
    const times = [...routes.routesOf(service)].flatMap(([peer, sent]) => {
      const at = renewed.get(`${peer} ${address.family}`);
      const covering = sent.filter(({ prefix }) => prefixContains(prefix, address));
      if (at === undefined || covering.length === 0) return [];
      const announced = covering.map(({ prefix }) => {
        const announcement = routes.announcement(peer, formatPrefix(prefix));
        if (announcement === undefined) return Number.NEGATIVE_INFINITY;
        return announcement.isReplacement ? announcement.at + limits.renewalMilliseconds : announcement.at - ageError;
      });
      return [Math.max(at, Math.min(...announced))];
    });
    return times.length === 0 ? Number.NEGATIVE_INFINITY : Math.min(...times);
  };
}

/** Returns when the routes of each family of an established session were last sent anew. */
function renewedAt({ peer, state, since, families = [] }: SessionStatus, offset: number): (readonly [string, number])[] {
  if (state !== 'Established') return [];
  return families.map(({ family, refreshRequested }) => {
    const began = millisecondsOf(since) - ageError;
    const asked = refreshRequested === undefined ? began : millisecondsOf(refreshRequested) + limits.renewalMilliseconds;
    return [`${peer} ${family.replace('IPv', '')}`, Math.max(began, asked) + offset] as const;
  });
}

// oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
const millisecondsOf = (date: string): number => Date.parse(date);

/** The kernel tells the age of a connection in whole seconds. One that came right after the route must not seem older. */
const ageError = 1_000;
