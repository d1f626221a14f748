import { Fields } from '../reading/fields.ts';
import { kept, to, type SourceKind } from '../reading/source-kind.ts';
import { imported, manifest, partsOf, type ImportedDocument, type SourceDocument } from '../tool.ts';
import { labelChoice } from './service-selector.ts';

/** pkg/k8s/apis/cilium.io/v2alpha1/l2announcement_types.go of Cilium. */
export const cLayer2: SourceKind = {
  tool: 'Cilium',
  kind: 'CiliumL2AnnouncementPolicy',
  root: 'spec.',
  fields: [
    to('nodeSelector', 'L2Advertisement `nodeSelectors`'),
    to(
      'serviceSelector',
      'L2Advertisement `serviceSelectors`. Selectors by the namespace or the name of a Service have no equivalent: no L2Advertisement is written.',
    ),
    to('loadBalancerIPs', 'Without `true` no L2Advertisement is written, because the policy announces no addresses of pools.'),
    to('externalIPs', 'Lost: an L2Advertisement announces addresses of pools only.'),
    to(
      'interfaces',
      'L2Advertisement `interfaces`, if each one is a name: `eth0` or `^eth0$`. With any other regular expression the list is left out, and a node announces on the interface whose network contains the address.',
    ),
    kept('status', 'is written by Cilium'),
  ],
};

export function ciliumLayer2(document: SourceDocument): ImportedDocument {
  const { name, spec } = partsOf(document.raw);
  const fields = Fields.of(cLayer2, spec);
  const nodeSelector = fields.value('nodeSelector');
  const serviceSelectors = labelChoice(fields, 'serviceSelector');
  const interfaces = interfaceNames(fields);
  if (fields.flag('externalIPs') === true)
    fields.lose(
      'externalIPs',
      'has no equivalent: an L2Advertisement announces addresses of pools only',
      'give these Services type LoadBalancer, or route the addresses to a node',
    );
  if (fields.flag('loadBalancerIPs') !== true) {
    fields.note('loadBalancerIPs', 'is not true: the policy announces no addresses of pools, so no L2Advertisement is written');
    return imported(document, fields, []);
  }
  if (serviceSelectors === undefined) return imported(document, fields, []);
  const nodeSelectors = nodeSelector === undefined ? [] : [nodeSelector];
  return imported(document, fields, [manifest('L2Advertisement', name, { nodeSelectors, serviceSelectors, interfaces })]);
}

function interfaceNames(fields: Fields): readonly string[] {
  const written = fields.texts('interfaces');
  const names = written.map((pattern) => /^\^?([A-Za-z0-9_@-]{1,15})\$?$/.exec(pattern)?.[1]);
  const pattern = written.find((_, index) => names[index] === undefined);
  if (pattern !== undefined) {
    fields.lose(
      'interfaces',
      `has the regular expression ${pattern.slice(0, 63)}, and Herald takes names: the list is left out, so a node announces on the interface whose network contains the address`,
      'write the names of the interfaces if nodes have no address in the network of the pool',
    );
    return [];
  }
  const open = written.find((one) => !(one.startsWith('^') && one.endsWith('$')));
  if (open !== undefined)
    fields.note('interfaces', `has ${open}, which in Cilium also fits longer names that contain it; in Herald it is that one name`);
  return names.filter((one) => one !== undefined);
}
