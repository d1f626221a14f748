import { Fields } from './reading/fields.ts';
import { kept, type SourceKind } from './reading/source-kind.ts';
import { imported, partsOf, type Tool } from './tool.ts';

/** What ServiceLB (Klipper) of k3s makes of each Service. It has no configuration of its own. */
const daemonSet: SourceKind = {
  tool: 'ServiceLB of k3s',
  kind: 'DaemonSet svclb-*',
  root: '',
  fields: ['apiVersion', 'kind', 'metadata', 'spec', 'status'].map((field) =>
    kept(field, 'is made by k3s for one Service, and goes when ServiceLB is switched off'),
  ),
};

/** ServiceLB gives Services the addresses of nodes, which are in no pool. */
export const serviceLB: Tool = {
  name: 'ServiceLB of k3s',
  kinds: [daemonSet],
  recognises: ({ raw }) => {
    const { kind, name, labels } = partsOf(raw);
    return kind === 'DaemonSet' && (name.startsWith('svclb-') || labels['svccontroller.k3s.cattle.io/svcname'] !== undefined);
  },
  translate: (documents) =>
    documents.map((document) => {
      const fields = Fields.of(daemonSet, {});
      fields.lose(
        '',
        'forwards ports of nodes to a Service, whose addresses are those of the nodes: Herald gives it an address of a pool',
        'write an IPAddressPool of free addresses, and start k3s with --disable servicelb: docs/how-to/migrate-from-others.md has the order',
      );
      return imported(document, fields, []);
    }),
};
