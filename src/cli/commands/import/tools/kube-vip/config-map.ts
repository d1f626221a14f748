import { poolRange, withoutEnds } from '../reading/blocks.ts';
import { Fields } from '../reading/fields.ts';
import { kept, lost, to, type SourceKind } from '../reading/source-kind.ts';
import { imported, manifest, partsOf, type ImportedDocument, type Manifest, type SourceDocument } from '../tool.ts';

/** The ConfigMap of kube-vip-cloud-provider (README.md and pkg/config/config.go there). */
export const kubeVipConfigMap: SourceKind = {
  tool: 'kube-vip',
  kind: 'ConfigMap kubevip',
  root: 'data.',
  fields: [
    to('cidr-global', 'IPAddressPool `addresses`, of a pool for every namespace'),
    to('range-global', 'IPAddressPool `addresses`, of a pool for every namespace'),
    to('cidr-*', 'An IPAddressPool with `serviceAllocation.namespaces`, for the namespace after the dash'),
    to('range-*', 'An IPAddressPool with `serviceAllocation.namespaces`, for the namespace after the dash'),
    to('skip-end-ips-in-cidr', 'true: the first and the last address of each CIDR are left out'),
    to('search-order', '`desc` is lost: Herald assigns the lowest free address.'),
    lost(
      'allow-share-*',
      'lets Services of the namespace share addresses by themselves',
      'write herald.dev/allow-shared-ip with one key on the Services that share',
    ),
    lost(
      'interface-*',
      'names an interface for the Services of a namespace',
      'write an L2Advertisement with interfaces and the pool of that namespace',
    ),
    kept('config', 'is not read by kube-vip-cloud-provider'),
  ],
};

const pattern = /^(?:cidr|range)-/;

export const isKubeVipConfigMap = ({ raw }: SourceDocument): boolean => {
  const { kind, name } = partsOf(raw);
  const data = raw['data'];
  return kind === 'ConfigMap' && name === 'kubevip' && typeof data === 'object' && data !== null;
};

export function kubeVipPools(document: SourceDocument): ImportedDocument {
  const fields = Fields.of(kubeVipConfigMap, document.raw['data']);
  const cut = fields.flag('skip-end-ips-in-cidr') === true;
  if (fields.text('search-order') === 'desc') fields.lose('search-order', 'is desc: Herald assigns the lowest free address of a pool', '');
  const names = fields.names().filter((name) => pattern.test(name));
  const namespaces = new Set(names.map((name) => name.replace(pattern, '')));
  const pools = [...namespaces].flatMap((namespace) => {
    const own = names.filter((name) => name.replace(pattern, '') === namespace);
    return poolOf(
      namespace,
      own.flatMap((name) => rangesOf(fields, name, cut)),
    );
  });
  return imported(document, fields, pools);
}

function rangesOf(fields: Fields, name: string, cut: boolean): string[] {
  const parts = (fields.text(name) ?? '').split(',').map((part) => part.trim());
  const written = [...new Set(parts.filter((part) => part !== ''))];
  const isDhcp = (part: string): boolean => /^(?:0\.0\.0\.0|::)(?:\/\d+)?$/.test(part);
  if (written.some(isDhcp))
    fields.lose(
      name,
      'has 0.0.0.0, by which kube-vip takes addresses from a DHCP server: Herald assigns from pools only',
      'reserve a range in the DHCP server, and write it as a pool',
    );
  return written.filter((part) => !isDhcp(part)).map((part) => (cut && name.startsWith('cidr-') ? withoutEnds(part) : poolRange(part)));
}

function poolOf(namespace: string, addresses: readonly string[]): Manifest[] {
  if (addresses.length === 0) return [];
  const isGlobal = namespace === 'global';
  return [
    manifest('IPAddressPool', `kube-vip-${namespace}`, {
      addresses,
      serviceAllocation: isGlobal ? undefined : { namespaces: [namespace] },
    }),
  ];
}
