import type { ReceivedRoute, RouteChange, RouteSource } from '../../../../../src/bgp/rib/received/received-route.ts';
import { AdjRibIn, type TableSession } from '../../../../../src/bgp/rib/received/adj-rib-in.ts';
import type { ImportRules } from '../../../../../src/bgp/rib/received/import-filter.ts';
import type { PathAttributes } from '../../../../../src/bgp/wire/attributes/decode-attributes.ts';
import { nlriOf, type Path } from '../../../../../src/bgp/wire/nlri.ts';
import type { UpdateMessage } from '../../../../../src/bgp/wire/update.ts';
import { address, addressBytes, familyOfText } from '../../../../../src/net/address.ts';
import { formatPrefix, prefix } from '../../../../../src/net/prefix.ts';

/** Values for tests of received routes. */

export const router: RouteSource = {
  peer: 'tor1',
  address: address('10.0.0.1'),
  asn: 65001,
  routerId: address('10.0.0.1'),
  internal: false,
};

export const session: TableSession = {
  from: router,
  localAsn: 64512,
  routerId: address('10.0.0.2'),
  localAddress: address('10.0.0.2'),
  peerRole: undefined,
  keepRefused: false,
};

export const everything: ImportRules = { rules: [], otherwise: 'accept' };

export const table = (rules: ImportRules = everything, change: Partial<TableSession> = {}, maximum = 1_000): AdjRibIn =>
  new AdjRibIn(rules, { ...session, ...change }, maximum);

/** `path`: "192.0.2.0/24", or "192.0.2.0/24 7" with a path identifier. */
export function pathOf(path: string): Path {
  const [text = '', pathId] = path.split(' ');
  return { prefix: prefix(text), ...(pathId === undefined ? {} : { pathId: Number(pathId) }) };
}

export const ordinaryPath: PathAttributes = { origin: 0, asPath: [{ kind: 'sequence', asns: [65001] }] };

/** Returns an UPDATE whose prefixes are all of one family. */
export function update(announced: readonly string[], withdrawn: readonly string[] = [], attributes: PathAttributes = {}): UpdateMessage {
  const family = familyOfText(announced[0] ?? withdrawn[0] ?? '');
  const nextHop = addressBytes(address(family === 4 ? '10.0.0.1' : '2001:db8::1'));
  return {
    announced: announced.length === 0 ? [] : [nlriOf(family, announced.map(pathOf), nextHop)],
    withdrawn: withdrawn.length === 0 ? [] : [nlriOf(family, withdrawn.map(pathOf))],
    attributes: { ...ordinaryPath, ...attributes },
    treatAsWithdraw: false,
    faults: [],
  };
}

export const nameOf = ({ prefix, pathId, stale }: ReceivedRoute): string =>
  [formatPrefix(prefix), pathId, stale].filter((part) => part !== undefined).join(' ');

export const describe = (changes: readonly RouteChange[]): string[] => changes.map(({ kind, route }) => `${kind} ${nameOf(route)}`);

export const routesIn = (rib: AdjRibIn): string[] => ([4, 6] as const).flatMap((family) => [...rib.routes(family)].map(nameOf)).toSorted();
