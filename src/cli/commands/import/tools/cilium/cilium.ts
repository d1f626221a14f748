import { partsOf, type ImportedDocument, type Input, type SourceDocument, type Tool } from '../tool.ts';
import { cAdvertisement, ciliumAdvertisement } from './advertisement.ts';
import { cClusterConfig, ciliumNodeConfig, ciliumPeerConfigs, ciliumPeers, cNodeOverride } from './cluster-config.ts';
import { ciliumLayer2, cLayer2 } from './layer2.ts';
import { cPeerConfig } from './peer-config.ts';
import { ciliumPeeringPolicy, cPeeringPolicy } from './peering-policy.ts';
import { ciliumPool, cPool } from './pool.ts';

const kinds = [cPool, cClusterConfig, cPeerConfig, cAdvertisement, cNodeOverride, cPeeringPolicy, cLayer2];
const written = ['CiliumBGPNodeConfig'];

/** LB IPAM, BGP control plane and L2 announcements of Cilium. */
export const cilium: Tool = {
  name: 'Cilium',
  kinds,
  recognises: ({ raw }) => {
    const { group, kind } = partsOf(raw);
    return group === 'cilium.io' && (written.includes(kind) || kinds.some((one) => one.kind === kind));
  },
  translate(documents: readonly SourceDocument[], { templates }: Input): ImportedDocument[] {
    const of = (kind: string): SourceDocument[] => documents.filter(({ raw }) => partsOf(raw).kind === kind);
    const selecting = new Set([cClusterConfig.kind, cPeerConfig.kind]);
    const leftOut = templates.filter(({ raw }) => selecting.has(partsOf(raw).kind)).map(({ object }) => object);
    const configs = ciliumPeerConfigs(of(cPeerConfig.kind));
    const { documents: clusters, peers } = ciliumPeers(of(cClusterConfig.kind), of(cNodeOverride.kind), configs.settings);
    return [
      ...of(cPool.kind).map(ciliumPool),
      ...clusters,
      ...configs.documents,
      ...of(cAdvertisement.kind).map((one) => ciliumAdvertisement(one, peers, leftOut)),
      ...of(cPeeringPolicy.kind).map(ciliumPeeringPolicy),
      ...of(cLayer2.kind).map(ciliumLayer2),
      ...written.flatMap(of).map(ciliumNodeConfig),
    ];
  },
};
