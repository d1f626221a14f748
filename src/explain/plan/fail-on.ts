import { findProvider, providerTables } from '../../model/provider-tables.ts';
import type { Plan } from './plan.ts';
import type { ServicePreview } from '../provider/provider.ts';

/** Changes that a pipeline may refuse, by their name on the command line, with their meaning. */
const ownKinds = {
  'moved-address': 'a Service gets another address in place of its current one',
  'lost-address': 'a Service loses its addresses',
  'no-address': 'a Service that requests an address gets none',
  'unannounced-address': 'a new address, or one that is announced now, is announced by no node',
  'pool-refused': 'a pool is refused, because it overlaps another one',
  'owner-moved': 'another node than before, or none, answers ARP or NDP for an address',
  'session-reset': 'a BGP session resets',
  'session-stop': 'a BGP session ends',
  'route-withdrawn': 'a route is withdrawn, also by the reset of its session',
  'rule-removed': 'a forwarding rule is removed',
} as const;

/** `NAME-call` and `NAME-delete` are of provider NAME. */
export type FailureKind = keyof typeof ownKinds | `${string}-call` | `${string}-delete`;

/** Returns every kind with its meaning. */
export function failureKinds(): Readonly<Record<string, string>> {
  const ofProviders = providerTables().flatMap(({ name, wording }) =>
    wording === undefined ? [] : Object.entries({ [`${name}-call`]: wording.failures.call, [`${name}-delete`]: wording.failures.deletion }),
  );
  return { ...ownKinds, ...Object.fromEntries(ofProviders) };
}

/** A change that the pipeline refuses, such as "session-reset: node1 tor1 (holdTime)". */
interface Failure {
  readonly kind: FailureKind;
  readonly what: string;
}

export function findFailures(plan: Plan, previews: readonly ServicePreview[], refused: ReadonlySet<FailureKind>): Failure[] {
  return [
    ...poolFailures(plan),
    ...addressFailures(plan),
    ...unannouncedFailures(plan),
    ...ownerFailures(plan),
    ...nodeFailures(plan),
    ...callFailures(previews),
  ].filter(({ kind }) => refused.has(kind));
}

function poolFailures({ pools }: Plan): Failure[] {
  return pools.map(({ pool, heldBy }): Failure => {
    const services = heldBy.map(({ service }) => service).join(', ');
    return { kind: 'pool-refused', what: `${pool}${services === '' ? '' : ` (addresses of ${services})`}` };
  });
}

function addressFailures({ addresses }: Plan): Failure[] {
  return addresses.flatMap(({ service, before, after }): Failure[] => {
    if (before.length === 0) return after.length === 0 ? [{ kind: 'no-address', what: service }] : [];
    const what = `${service} ${before.join(', ')} -> ${after.join(', ') || 'none'}`;
    if (after.length === 0) return [{ kind: 'lost-address', what }];
    return before.every((address) => after.includes(address)) ? [] : [{ kind: 'moved-address', what }];
  });
}

function unannouncedFailures({ unannounced }: Plan): Failure[] {
  return unannounced.map(({ service, address }): Failure => ({ kind: 'unannounced-address', what: `${service} ${address}` }));
}

/** An address that no node announced before moves from none. */
function ownerFailures({ owners }: Plan): Failure[] {
  return owners.flatMap(({ address, before, after = 'none' }): Failure[] =>
    before === undefined ? [] : [{ kind: 'owner-moved', what: `${address} ${before} -> ${after}` }],
  );
}

function nodeFailures({ sessions, routes, rules }: Plan): Failure[] {
  return [
    ...sessions.flatMap(({ node, peer, change, fields }): Failure[] => {
      if (change === 'reset') return [{ kind: 'session-reset', what: `${node} ${peer} (${fields.join(', ')})` }];
      return change === 'stop' ? [{ kind: 'session-stop', what: `${node} ${peer}` }] : [];
    }),
    ...routes.flatMap(({ node, change, what }): Failure[] =>
      change === 'remove' ? [{ kind: 'route-withdrawn', what: `${node} ${what}` }] : [],
    ),
    ...sessions.flatMap(({ node, peer, lost }): Failure[] =>
      lost === undefined ? [] : [{ kind: 'route-withdrawn', what: `${node} ${lost} routes to ${peer}` }],
    ),
    ...rules.flatMap(({ node, change, what }): Failure[] =>
      change === 'remove' ? [{ kind: 'rule-removed', what: `${node} ${what}` }] : [],
    ),
  ];
}

function callFailures(previews: readonly ServicePreview[]): Failure[] {
  return previews.flatMap(({ service, provider, actions }) => {
    const failures = findProvider(provider)?.wording?.failures;
    if (failures === undefined) return [];
    return actions.flatMap(({ operation, id }): Failure[] => {
      const what = `${service} ${operation} ${id}`;
      const call: Failure = { kind: `${provider}-call`, what };
      return failures.isDeletion(operation) ? [call, { kind: `${provider}-delete`, what }] : [call];
    });
  });
}
