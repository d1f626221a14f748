import { formatAddress, addressFromBytes } from '../../../net/address.ts';
import { formatPrefix } from '../../../net/prefix.ts';
import type { AsPathSegment } from '../../wire/attributes/as-path.ts';
import { readPaths, type Nlri } from '../../wire/nlri.ts';
import type { UpdateMessage } from '../../wire/update.ts';
import type { Contents } from './foreign-case.ts';

const origins = ['igp', 'egp', 'incomplete'];

/** Describes the routes and attributes of a decoded UPDATE. */
export function contentsOf({ announced, withdrawn, attributes }: UpdateMessage): Contents {
  const { origin, med, localPref, asPath = [] } = attributes;
  const contents = new Set([...withdrawn].flatMap((nlri) => routesOf(nlri, 'withdraw')));
  for (const nlri of announced) {
    const via = nextHopOf(nlri);
    for (const route of routesOf(nlri, 'announce')) contents.add(`${route} via ${via}`);
  }
  if (origin !== undefined) contents.add(`origin ${origins[origin] ?? origin}`);
  if (med !== undefined) contents.add(`med ${med}`);
  if (localPref !== undefined) contents.add(`local-preference ${localPref}`);
  for (const [index, segment] of asPath.entries()) contents.add(segmentText(index, segment.kind, segment.asns));
  return contents;
}

export const segmentText = (index: number, kind: AsPathSegment['kind'], asns: readonly number[]): string =>
  `as-path segment ${index}: ${kind} ${asns.join(' ')}`;

function routesOf(nlri: Nlri, what: string): string[] {
  return [...readPaths(nlri)].map(
    ({ prefix, pathId }) => `${what} ${formatPrefix(prefix)}${pathId === undefined ? '' : ` path ${pathId}`}`,
  );
}

/** The first address: a link-local one may follow (RFC 2545 3). */
function nextHopOf({ nextHop }: Nlri): string {
  return nextHop === undefined ? 'nothing' : formatAddress(addressFromBytes(nextHop.length === 32 ? nextHop.subarray(0, 16) : nextHop));
}
