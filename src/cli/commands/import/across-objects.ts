import { resolveCommunity } from '../../../decisions/announcement/communities.ts';
import { conflictsOf } from '../../../decisions/configuration/pool-conflicts.ts';
import { isRecord } from '../../../lang/is-record.ts';
import type { BGPAdvertisement, BGPPeer, IPAddressPool, L2Advertisement } from '../../../model/kinds/types.ts';
import { excludedInterfacesName, type Imported, type RawInput, type Remark } from '../../../model/metallb/import.ts';
import { reason, reasonText, remedyText, type Reason } from '../../../model/reasons.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { readObjects } from '../../../sources/read-objects.ts';
import { aggregateRemarks } from './aggregates.ts';
import { attributeRemarks } from './conflicting-attributes.ts';
import { excludedInterfaces } from './excluded-interfaces.ts';
import { PoolCoverage } from './pool-coverage.ts';

/** Which Secrets the caller could read. */
export interface SecretsRead {
  /** False when objects come from files, which need not have the Secrets. */
  readonly all: boolean;
  /** Names of Secrets that the caller may not read. */
  readonly forbidden: ReadonlySet<string>;
}

/**
 * Checks the imported objects against each other, and returns them with what it found. An object of which another one is missing or
 * contradicts it is not exact: MetalLB accepts no configuration then, or ignores the name, and Herald leaves out that object or that name.
 * `leftOut`: "Kind/name" of objects that were found and could not be imported.
 */
export function checkAcross(
  imported: readonly Imported[],
  inputs: readonly RawInput[],
  secrets: SecretsRead,
  leftOut: ReadonlySet<string> = new Set(),
): Imported[] {
  const manifests = imported.flatMap(({ manifest }) => (manifest === undefined ? [] : [{ raw: manifest }]));
  const others = inputs.filter(({ raw }) => isKind(raw, 'v1', 'Secret') || isKind(raw, 'v1', 'Node'));
  const { snapshot } = readObjects([...manifests, ...others]);
  const conflicts = conflictsOf(snapshot.pools.values());
  const isExcluded = excludedInterfaces(inputs);
  const coverage = new PoolCoverage(snapshot);
  const refused = new Set([...leftOut, ...imported.flatMap(({ object, verdict }) => (verdict === 'refused' ? [shortName(object)] : []))]);
  return imported.map((one) => {
    const { kind, metadata } = one.manifest ?? {};
    const name = isRecord(metadata) ? String(metadata['name']) : '';
    const found = remarksOf(String(kind), name);
    if (found.length === 0) return one;
    const verdict = one.verdict === 'exact' && found.some(({ level }) => level === 'differs') ? 'differs' : one.verdict;
    return { ...one, verdict, remarks: [...one.remarks, ...found] };
  });

  function remarksOf(kind: string, name: string): Remark[] {
    const pool = kind === 'IPAddressPool' ? snapshot.pools.get(name) : undefined;
    if (pool !== undefined) return [...overlapRemarks(pool, conflicts), ...announcedRemarks(pool, coverage)];
    const peer = kind === 'BGPPeer' ? snapshot.peers.get(name) : undefined;
    if (peer !== undefined) return peerRemarks(peer, snapshot, secrets);
    const advertisement = kind === 'BGPAdvertisement' ? snapshot.advertisements.get(name) : undefined;
    if (advertisement !== undefined) return advertisementRemarks(advertisement, { snapshot, coverage, refused });
    const layer2 = kind === 'L2Advertisement' ? snapshot.l2Advertisements.get(name) : undefined;
    if (layer2 !== undefined) return [...unknownPools(layer2, snapshot, refused), ...interfaceRemarks(layer2, isExcluded)];
    return kind === 'Community' ? aliasRemarks(name, snapshot) : [];
  }
}

const isKind = (raw: unknown, apiVersion: string, kind: string): boolean =>
  isRecord(raw) && raw['apiVersion'] === apiVersion && raw['kind'] === kind;

const asRemark = (field: string, one: Reason): Remark => ({ level: 'differs', field, message: reasonText(one), fix: remedyText(one) });

interface Around {
  readonly snapshot: Snapshot;
  readonly coverage: PoolCoverage;
  readonly refused: ReadonlySet<string>;
}

function advertisementRemarks(advertisement: BGPAdvertisement, { snapshot, coverage, refused }: Around): Remark[] {
  const { name } = advertisement.metadata;
  return [
    ...advertisement.communities
      .filter((community) => !resolveCommunity(community, snapshot.communities.values()).ok)
      .map((community) => asRemark('spec.communities', reason('UnknownCommunity', { community, advertisement: name }))),
    ...unknownPools(advertisement, snapshot, refused),
    ...advertisement.peers
      .filter((peer) => !snapshot.peers.has(peer))
      .map((peer) =>
        refused.has(`BGPPeer/${peer}`)
          ? namesRefused('spec.peers', `BGPPeer "${peer}"`)
          : asRemark('spec.peers', reason('UnknownPeer', { advertisement: name, peer })),
      ),
    ...aggregateRemarks(advertisement, snapshot, coverage),
    ...attributeRemarks(advertisement, snapshot, coverage),
  ];
}

function peerRemarks({ metadata: { name }, bfdProfile, passwordSecret }: BGPPeer, snapshot: Snapshot, secrets: SecretsRead): Remark[] {
  const remarks: Remark[] = [];
  if (bfdProfile !== undefined && !snapshot.bfdProfiles.has(bfdProfile)) {
    remarks.push(asRemark('spec.bfdProfile', reason('BFDProfileMissing', { peer: name, profile: bfdProfile })));
  }
  if (passwordSecret === undefined) return remarks;
  const text = `${passwordSecret.namespace}/${passwordSecret.name}`;
  const found = snapshot.secrets.get(text);
  const field = 'spec.passwordSecret';
  const check = `check that Secret ${text} has type kubernetes.io/basic-auth and the key password`;
  if (found === undefined && secrets.forbidden.has(passwordSecret.name)) {
    remarks.push({ level: 'note', field, message: `names Secret ${text}, which you may not read`, fix: check });
  } else if (found === undefined && !secrets.all) {
    remarks.push({ level: 'note', field, message: `names Secret ${text}, which was not read`, fix: check });
  } else if (found === undefined) {
    const message = `names Secret ${text}, which does not exist: this session waits for it, and MetalLB accepts no configuration`;
    remarks.push({ level: 'differs', field, message, fix: `create Secret ${text}` });
  } else if (found.password === undefined) {
    remarks.push({ level: 'differs', field, message: `names Secret ${text}, which has no key password`, fix: 'add the key' });
  }
  return remarks;
}

function overlapRemarks({ metadata: { name } }: IPAddressPool, conflicts: ReadonlyMap<string, readonly string[]>): Remark[] {
  return (conflicts.get(name) ?? []).map((other) => ({
    level: 'differs',
    field: 'spec.addresses',
    message: `overlaps IPAddressPool "${other}": one of the two gives no addresses, and MetalLB accepts no configuration`,
    fix: 'make the pools disjoint',
  }));
}

/** "IPAddressPool.metallb.io/metallb-system/main" as "IPAddressPool/main". */
const shortName = (object: string): string => `${object.slice(0, object.indexOf('.'))}/${object.slice(object.lastIndexOf('/') + 1)}`;

function unknownPools(
  { kind, metadata: { name }, ipAddressPools }: BGPAdvertisement | L2Advertisement,
  { pools }: Snapshot,
  refused: ReadonlySet<string>,
): Remark[] {
  return ipAddressPools
    .filter((pool) => !pools.has(pool))
    .map((pool) =>
      refused.has(`IPAddressPool/${pool}`)
        ? namesRefused('spec.ipAddressPools', `IPAddressPool "${pool}"`)
        : asRemark('spec.ipAddressPools', reason('UnknownPool', { kind, advertisement: name, pool })),
    );
}

/** An object that is there and could not be imported need not be created. */
const namesRefused = (field: string, object: string): Remark => ({
  level: 'differs',
  field,
  message: `names ${object}, which was not imported: it counts once that object is mended`,
  fix: `mend ${object}`,
});

function interfaceRemarks({ interfaces }: L2Advertisement, isExcluded: (name: string) => boolean): Remark[] {
  const field = 'spec.interfaces';
  if (interfaces.length === 0) {
    const message = 'is empty: Herald announces on the interface whose network contains the address, MetalLB on all';
    return [{ level: 'note', field, message, fix: 'name the interface if nodes have no address in the network of the pool' }];
  }
  return interfaces.filter(isExcluded).map((name) => ({
    level: 'differs',
    field,
    message: `names ${name}, which ConfigMap ${excludedInterfacesName} excludes: Herald announces on it, and MetalLB does not`,
    fix: `remove ${name}`,
  }));
}

function announcedRemarks({ metadata: { name } }: IPAddressPool, coverage: PoolCoverage): Remark[] {
  if (coverage.isAnnounced(name)) return [];
  const message = 'is announced by nothing: its addresses are assigned and cannot be reached, as in MetalLB';
  return [{ level: 'note', field: 'spec', message, fix: 'add a BGPAdvertisement or an L2Advertisement, or remove the pool' }];
}

/** An alias that two objects define has the value of the first object by name. */
function aliasRemarks(name: string, { communities }: Snapshot): Remark[] {
  const own = communities.get(name)?.communities ?? [];
  const earlier = [...communities.values()].filter(({ metadata }) => metadata.name < name);
  return own.flatMap((alias) => {
    const first = earlier.find((one) => one.communities.some((other) => other.name === alias.name));
    if (first === undefined) return [];
    const message = `defines ${alias.name} as Community "${first.metadata.name}" does: that one counts, and MetalLB accepts no configuration`;
    return [{ level: 'differs', field: 'spec.communities', message, fix: 'rename one of the two' }];
  });
}
