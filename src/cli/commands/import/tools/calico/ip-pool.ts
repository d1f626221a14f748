import { poolRange } from '../reading/blocks.ts';
import { Fields } from '../reading/fields.ts';
import { kept, lost, to, type SourceKind } from '../reading/source-kind.ts';
import { imported, manifest, partsOf, type ImportedDocument, type SourceDocument } from '../tool.ts';
import { labelSelectors } from './selector.ts';

const pods = 'is about the network of pods, which stays with Calico';

/** api/pkg/apis/projectcalico/v3/ippool.go of Calico. */
export const calicoPool: SourceKind = {
  tool: 'Calico',
  kind: 'IPPool',
  root: 'spec.',
  fields: [
    to('allowedUses', 'Only a pool with `LoadBalancer` becomes an IPAddressPool; the others stay with Calico.'),
    to('cidr', 'IPAddressPool `addresses`'),
    to('disabled', 'IPAddressPool `draining`'),
    to('assignmentMode', '`Manual`: IPAddressPool `autoAssign: false`'),
    to('namespaceSelector', 'IPAddressPool `serviceAllocation.namespaceSelectors`'),
    lost('nodeSelector', 'has no equivalent for addresses of Services', 'write nodeSelectors in the BGPAdvertisement'),
    kept('blockSize', 'is not needed: Herald assigns single addresses'),
    kept('ipipMode', pods),
    kept('vxlanMode', pods),
    kept('natOutgoing', pods),
    kept('disableBGPExport', 'is about routes of Calico'),
    kept('ipip', pods),
    kept('nat-outgoing', pods),
  ],
};

export const isLoadBalancerPool = ({ raw }: SourceDocument): boolean => {
  const uses = partsOf(raw).spec['allowedUses'];
  return Array.isArray(uses) && uses.includes('LoadBalancer');
};

export function calicoPoolObjects(document: SourceDocument): ImportedDocument {
  const { name, spec } = partsOf(document.raw);
  const fields = Fields.of(calicoPool, spec);
  for (const one of ['allowedUses', 'cidr', 'disabled', 'assignmentMode', 'namespaceSelector']) fields.value(one);
  if (!isLoadBalancerPool(document)) {
    const podsOnly = Fields.of(calicoPool, {});
    podsOnly.note('allowedUses', 'does not have LoadBalancer: the pool is for pods, and stays with Calico');
    return imported(document, podsOnly, []);
  }
  if (fields.texts('allowedUses').length > 1)
    fields.note(
      'allowedUses',
      'has other uses too: Herald does not know which addresses pods have',
      'use disjoint networks for pods and Services',
    );
  const selector = fields.text('namespaceSelector');
  const choice = selector === undefined ? undefined : labelSelectors(selector);
  if (choice?.ok === false)
    fields.refuse(
      'namespaceSelector',
      `${choice.problem}: the pool has autoAssign: false instead`,
      'label the namespaces, and select them by that label',
    );
  const namespaceSelectors = choice?.ok === true ? choice.selectors : [];
  const isManual = fields.text('assignmentMode') === 'Manual' || choice?.ok === false;
  const pool = manifest('IPAddressPool', name, {
    addresses: [poolRange(fields.text('cidr') ?? '')],
    autoAssign: isManual ? false : undefined,
    draining: fields.flag('disabled') === true ? true : undefined,
    serviceAllocation: namespaceSelectors.length === 0 ? undefined : { namespaceSelectors },
  });
  return imported(document, fields, [pool]);
}
