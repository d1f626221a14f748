import type {
  BFDProfile,
  BGPAdvertisement,
  BGPPeer,
  Community,
  ExternalIPPolicy,
  HeraldConfig,
  IPAddressPool,
  L2Advertisement,
} from '../../model/kinds/types.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';

/** The objects that users write to configure Herald. The controller writes their status. */
export type ConfigurationObject =
  | IPAddressPool
  | BGPPeer
  | BGPAdvertisement
  | L2Advertisement
  | BFDProfile
  | Community
  | ExternalIPPolicy
  | HeraldConfig;

/** "IPAddressPool/main". All of these kinds are cluster-scoped. */
export type ObjectKey = `${ConfigurationObject['kind']}/${string}`;

const collections: { readonly [K in ConfigurationObject['kind']]: (snapshot: Snapshot) => ReadonlyMap<string, ConfigurationObject> } = {
  IPAddressPool: ({ pools }) => pools,
  BGPPeer: ({ peers }) => peers,
  BGPAdvertisement: ({ advertisements }) => advertisements,
  L2Advertisement: ({ l2Advertisements }) => l2Advertisements,
  BFDProfile: ({ bfdProfiles }) => bfdProfiles,
  Community: ({ communities }) => communities,
  ExternalIPPolicy: ({ externalIPPolicies }) => externalIPPolicies,
  // Without a HeraldConfig its defaults apply; they have no uid.
  HeraldConfig: ({ config }) => new Map(config.metadata.uid === '' ? [] : [[config.metadata.name, config]]),
};

export function isConfigurationKind(kind: string): kind is ConfigurationObject['kind'] {
  return Object.hasOwn(collections, kind);
}

export function objectKeyOf(kind: ConfigurationObject['kind'], name: string): ObjectKey {
  return `${kind}/${name}`;
}

/** Returns the object that Herald uses. Those translated from another program's are left out: their status is not Herald's. */
export function configurationObject(snapshot: Snapshot, key: ObjectKey): ConfigurationObject | undefined {
  const { kind, name } = partsOf(key);
  const object = collections[kind](snapshot).get(name);
  return object?.metadata.origin === undefined ? object : undefined;
}

/** Returns an object that was translated from another program's object. Herald writes no status to it. */
export function translatedObject(snapshot: Snapshot, key: ObjectKey): ConfigurationObject | undefined {
  const { kind, name } = partsOf(key);
  const object = collections[kind](snapshot).get(name);
  return object?.metadata.origin === undefined ? undefined : object;
}

export function keysOf(snapshot: Snapshot, ...kinds: readonly ConfigurationObject['kind'][]): ObjectKey[] {
  const wanted = kinds.length === 0 ? (Object.keys(collections) as ConfigurationObject['kind'][]) : kinds;
  return wanted.flatMap((kind) => [...collections[kind](snapshot).keys()].map((name) => objectKeyOf(kind, name)));
}

export function partsOf(key: ObjectKey): { readonly kind: ConfigurationObject['kind']; readonly name: string } {
  const slash = key.indexOf('/');
  return { kind: key.slice(0, slash) as ConfigurationObject['kind'], name: key.slice(slash + 1) };
}
