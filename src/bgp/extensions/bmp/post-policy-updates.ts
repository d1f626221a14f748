import { addressBytes, type Family } from '../../../net/address.ts';
import { defined } from '../../../lang/defined.ts';
import { maximumExtendedMessageLength } from '../../limits.ts';
import type { ReceivedPath, ReceivedRoute, RouteChange } from '../../rib/received/received-route.ts';
import { defaultLocalPref } from '../../route.ts';
import { encodePathAttributes } from '../../wire/attributes/encode-attributes.ts';
import { encodeMessage } from '../../wire/message.ts';
import { nlriOf, type Path } from '../../wire/nlri.ts';
import { concat } from '../../wire/writer.ts';

/** Prefixes of one UPDATE at most. */
const prefixesPerUpdate = 512;

/** Octets of an UPDATE around its attributes and prefixes: header, two lengths, and MP_REACH_NLRI with two next hops. */
const overhead = 23 + 4 + 3 + 1 + 32 + 1;

/** Octets of the longest prefix: path identifier, length, IPv6 address. */
const longestPrefix = 4 + 1 + 16;

const origins = { igp: 0, egp: 1, incomplete: 2 } as const;

/** Encodes changes of accepted routes as UPDATEs in the same order, with four-octet AS numbers. Neighbouring routes with one path share one. */
export function updatesOfChanges(changes: readonly RouteChange[]): Uint8Array[] {
  return runsOf(changes, (a, b) => (a.kind === 'withdrawn') === (b.kind === 'withdrawn') && sharesUpdate(a.route, b.route)).flatMap(
    (run) => {
      const routes = run.map(({ route }) => route);
      return run[0]?.kind === 'withdrawn' ? withdrawal(routes) : announcements(routes);
    },
  );
}

/** Encodes accepted routes as UPDATEs. */
export const updatesOfRoutes = (routes: readonly ReceivedRoute[]): Uint8Array[] => runsOf(routes, sharesUpdate).flatMap(announcements);

function runsOf<T>(items: readonly T[], belong: (before: T, next: T) => boolean): T[][] {
  const runs: T[][] = [];
  for (const item of items) {
    const run = runs.at(-1);
    const before = run?.at(-1);
    if (run !== undefined && before !== undefined && run.length < prefixesPerUpdate && belong(before, item)) run.push(item);
    else runs.push([item]);
  }
  return runs;
}

/** The prefixes of an UPDATE share the lists of their paths, so that a comparison of the lists themselves suffices. */
function sharesUpdate(a: ReceivedRoute, b: ReceivedRoute): boolean {
  return (
    a.prefix.address.family === b.prefix.address.family &&
    (a.pathId === undefined) === (b.pathId === undefined) &&
    a.asPath === b.asPath &&
    a.communities === b.communities &&
    a.nextHops === b.nextHops &&
    a.localPref === b.localPref
  );
}

function withdrawal(routes: readonly ReceivedRoute[]): Uint8Array {
  return encode({ withdrawn: [nlriOf(familyOf(routes), pathsOf(routes))], announced: [], attributes: {} });
}

/**
 * Encodes routes that share a path, as many in an UPDATE as fit. A path that fits into no UPDATE with four-octet AS numbers, although it came in
 * one with two, is left out.
 */
function announcements(routes: readonly ReceivedRoute[]): Uint8Array[] {
  const [first] = routes;
  if (first === undefined) return [];
  const nextHop = concat(first.nextHops.map(addressBytes));
  const { multiprotocol } = nlriOf(familyOf(routes), [], nextHop);
  const attributes = attributesOf(first, multiprotocol ? undefined : nextHop);
  const room = maximumExtendedMessageLength - overhead - encodePathAttributes(attributes, { fourOctetAsn: true }).length;
  const most = Math.floor(room / longestPrefix);
  if (most < 1) return [];
  const chunks: Uint8Array[] = [];
  for (let start = 0; start < routes.length; start += most) {
    const nlri = nlriOf(familyOf(routes), pathsOf(routes.slice(start, start + most)), nextHop);
    chunks.push(encode({ withdrawn: [], announced: [nlri], attributes }));
  }
  return chunks;
}

type Update = Omit<Extract<Parameters<typeof encodeMessage>[0], { kind: 'update' }>, 'kind'>;

const encode = (update: Update): Uint8Array => encodeMessage({ kind: 'update', ...update }, { maximum: maximumExtendedMessageLength });

/** LOCAL_PREF of an external peer is sent if a rule has set it: these are the routes after the policy. */
function attributesOf(path: ReceivedPath, nextHop: Uint8Array | undefined): Update['attributes'] {
  const { from, localPref, originatorId, clusterList, origin, asPath, med, communities, onlyToCustomer } = path;
  return {
    origin: origins[origin],
    asPath,
    ...defined({
      nextHop,
      med,
      localPref: from.internal || localPref !== defaultLocalPref ? localPref : undefined,
      originatorId: originatorId === undefined ? undefined : Number(originatorId.value),
      clusterList: clusterList?.map(({ value }) => Number(value)),
      onlyToCustomer,
    }),
    ...(communities.length === 0 ? {} : { communities }),
  };
}

const familyOf = ([first]: readonly ReceivedRoute[]): Family => first?.prefix.address.family ?? 4;

const pathsOf = (routes: readonly ReceivedRoute[]): Path[] => routes.map(({ prefix, pathId }) => ({ prefix, ...defined({ pathId }) }));
