import { judged, partsOf, type ImportedDocument, type SourceDocument, type Tool } from '../tool.ts';
import { calicoConfiguration, calicoConfigurationObjects, calicoDefaults } from './bgp-configuration.ts';
import { calicoPeer, calicoPeerObjects } from './bgp-peer.ts';
import { calicoPool, calicoPoolObjects, isLoadBalancerPool } from './ip-pool.ts';

const kinds = [calicoConfiguration, calicoPeer, calicoPool];
/** Kinds about pods and about Calico's own routes. */
const others = new Set(['BGPFilter', 'CalicoNodeStatus', 'IPReservation']);

/** BGP and addresses of Services of Calico. Its network of pods stays. */
export const calico: Tool = {
  name: 'Calico',
  kinds,
  recognises: ({ raw }) => {
    const { group, kind } = partsOf(raw);
    const isCalico = group === 'projectcalico.org' || group === 'crd.projectcalico.org';
    return isCalico && (others.has(kind) || kinds.some((one) => one.kind === kind));
  },
  translate(documents) {
    const of = (kind: string): SourceDocument[] => documents.filter(({ raw }) => partsOf(raw).kind === kind);
    const configurations = of(calicoConfiguration.kind);
    const pools = of(calicoPool.kind);
    const hasPools = pools.some(isLoadBalancerPool);
    const defaults = calicoDefaults(configurations);
    return [
      ...pools.map(calicoPoolObjects),
      ...configurations.map((one) => calicoConfigurationObjects(one, hasPools)),
      ...of(calicoPeer.kind).map((one) => calicoPeerObjects(one, defaults)),
      ...[...others].flatMap(of).map(stays),
    ];
  },
};

function stays(document: SourceDocument): ImportedDocument {
  const message = 'is about routes and pods of Calico, and stays with it: Herald announces only what BGPAdvertisements select';
  return judged(document, [{ level: 'note', field: 'kind', message, fix: '' }], []);
}
