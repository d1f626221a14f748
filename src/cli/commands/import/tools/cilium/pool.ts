import { Fields } from '../reading/fields.ts';
import { hasHostBits, poolRange, withoutEnds } from '../reading/blocks.ts';
import { kept, to, type SourceKind } from '../reading/source-kind.ts';
import { imported, manifest, partsOf, type ImportedDocument, type SourceDocument } from '../tool.ts';
import { serviceChoice } from './service-selector.ts';

/** pkg/k8s/apis/cilium.io/v2/lbipam_types.go of Cilium. */
export const cPool: SourceKind = {
  tool: 'Cilium',
  kind: 'CiliumLoadBalancerIPPool',
  root: 'spec.',
  fields: [
    to('blocks[].cidr', 'IPAddressPool `addresses`, with its host bits cleared'),
    to('blocks[].start', 'IPAddressPool `addresses`, as a range with `stop`'),
    to('blocks[].stop', 'IPAddressPool `addresses`. Without it the block is the one address of `start`.'),
    to('cidrs[].cidr', 'The name of `blocks` before Cilium 1.15'),
    to(
      'allowFirstLastIPs',
      '`No`: the first and the last address of each CIDR are left out. Cilium before 1.16 does that also when the field is not set; the import does not.',
    ),
    to(
      'serviceSelector',
      'IPAddressPool `serviceAllocation.serviceSelectors`; the label `io.kubernetes.service.namespace` becomes `serviceAllocation.namespaces`. A selector by the name of a Service has no equivalent: the pool then has `autoAssign: false`.',
    ),
    to('disabled', 'IPAddressPool `draining`'),
    kept('status', 'is written by Cilium'),
  ],
};

export function ciliumPool(document: SourceDocument): ImportedDocument {
  const { name, spec } = partsOf(document.raw);
  const fields = Fields.of(cPool, spec);
  const cut = fields.text('allowFirstLastIPs')?.toLowerCase() === 'no';
  const old = fields.items('cidrs');
  const addresses = [...fields.items('blocks'), ...old].flatMap((block) => blockRange(block, old.includes(block), cut));
  if (old.length > 0)
    fields.note(
      'allowFirstLastIPs',
      'is not in this version: Cilium does not assign the first and the last address of a CIDR, and Herald does',
    );
  const choice = serviceChoice(fields, 'serviceSelector');
  const { namespaces = [], serviceSelectors = [] } = choice ?? {};
  const isLimited = namespaces.length > 0 || serviceSelectors.length > 0;
  const pool = manifest('IPAddressPool', name, {
    addresses,
    autoAssign: choice === undefined ? false : undefined,
    draining: fields.flag('disabled') === true ? true : undefined,
    serviceAllocation: isLimited
      ? { ...(namespaces.length > 0 ? { namespaces } : {}), ...(serviceSelectors.length > 0 ? { serviceSelectors } : {}) }
      : undefined,
  });
  return imported(document, fields, [pool]);
}

function blockRange(block: Fields, isOld: boolean, cut: boolean): string[] {
  const cidr = block.text('cidr');
  if (cidr !== undefined) {
    if (hasHostBits(cidr)) block.note('cidr', `has host bits, which do not count: it is ${poolRange(cidr)}`);
    return [cut ? withoutEnds(cidr) : poolRange(cidr)];
  }
  const start = isOld ? undefined : block.text('start');
  if (start === undefined) return [];
  const stop = block.text('stop') ?? start;
  return [start === stop ? poolRange(start) : poolRange(`${start}-${stop}`)];
}
