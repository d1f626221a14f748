import { isRecord } from '../../../../../lang/is-record.ts';
import { Fields } from '../reading/fields.ts';
import { to, type SourceKind } from '../reading/source-kind.ts';
import { imported, manifest, partsOf, type ImportedDocument, type Manifest, type SourceDocument } from '../tool.ts';
import type { CiliumPeer } from './cluster-config.ts';
import { communitiesOf, communityFields } from './communities.ts';
import { labelChoice } from './service-selector.ts';

/** pkg/k8s/apis/cilium.io/v2/bgp_advert_types.go of Cilium. */
export const cAdvertisement: SourceKind = {
  tool: 'Cilium',
  kind: 'CiliumBGPAdvertisement',
  root: 'spec.',
  fields: [
    to(
      'advertisements[].advertisementType',
      '`Service` becomes a BGPAdvertisement. `PodCIDR`, `CiliumPodIPPool` and `Interface` have no equivalent: Herald announces no networks of pods.',
    ),
    to(
      'advertisements[].service.addresses',
      'BGPAdvertisement `addressTypes`. `ExternalIP` also needs an ExternalIPPolicy, which only you can decide.',
    ),
    to('advertisements[].service.aggregationLengthIPv4', 'BGPAdvertisement `aggregationLength`. Not together with `selector`.'),
    to('advertisements[].service.aggregationLengthIPv6', 'BGPAdvertisement `aggregationLengthV6`. Not together with `selector`.'),
    to(
      'advertisements[].selector',
      'BGPAdvertisement `serviceSelectors`. Without a selector Cilium announces nothing, and no BGPAdvertisement is written.',
    ),
    ...communityFields('advertisements[].attributes.communities'),
    to('advertisements[].attributes.localPreference', 'BGPAdvertisement `localPref`'),
  ],
};

const addressTypes: Readonly<Record<string, string>> = { LoadBalancerIP: 'LoadBalancer', ClusterIP: 'ClusterIP', ExternalIP: 'ExternalIP' };

/** Translates a CiliumBGPAdvertisement for the peers whose configurations select it. `leftOut`: such configurations that are templates. */
export function ciliumAdvertisement(
  document: SourceDocument,
  peers: readonly CiliumPeer[],
  leftOut: readonly string[] = [],
): ImportedDocument {
  const { name, labels, spec } = partsOf(document.raw);
  const fields = Fields.of(cAdvertisement, spec);
  const users = peers.filter(({ settings }) => settings.advertisements.some(({ selector }) => matches(selector, labels)));
  const all = fields.items('advertisements');
  const manifests = all.flatMap((one, index) => announcement(one, all.length === 1 ? name : `${name}-${index + 1}`, users));
  if (manifests.length > 0 && users.length === 0) {
    fields.refuse(
      '',
      'is selected by no peer of the input: no BGPAdvertisement is written',
      leftOut.length === 0
        ? 'import it together with the CiliumBGPClusterConfig and CiliumBGPPeerConfig'
        : `render ${leftOut.slice(0, 3).join(' and ')} first`,
    );
    return imported(document, fields, []);
  }
  for (const { settings } of users) {
    const missing = [...settings.families].filter(
      (family) => !settings.advertisements.some((one) => one.family === family && matches(one.selector, labels)),
    );
    if (manifests.length > 0 && missing.length > 0) {
      const message = `is announced to a peer whose family ${missing.join(' and ')} does not select it: Herald announces both families to that peer`;
      fields.lose('', message, 'use one BGPPeer for each family, without dualStackAddressFamily');
    }
  }
  return imported(document, fields, manifests);
}

function announcement(fields: Fields, name: string, users: readonly CiliumPeer[]): Manifest[] {
  const type = fields.text('advertisementType') ?? '';
  if (type !== 'Service') {
    const fix =
      'let the network plugin route to pods without BGP, or keep its BGP for another address of the router: docs/how-to/beside-calico-or-cilium.md';
    fields.lose('advertisementType', `is ${type}: Herald announces Services only`, fix);
    for (const unused of ['selector', 'attributes', 'service']) if (fields.names().includes(unused)) ignored(fields, unused);
    return [];
  }
  const service = fields.within('service');
  const attributes = fields.within('attributes');
  const isSelective = fields.names().includes('selector');
  const serviceSelectors = labelChoice(fields, 'selector');
  const spec = {
    addressTypes: service.texts('addresses').map((one) => addressTypes[one] ?? one),
    aggregationLength: service.number('aggregationLengthIPv4'),
    aggregationLengthV6: service.number('aggregationLengthIPv6'),
    communities: communitiesOf(attributes.within('communities')),
    localPref: attributes.number('localPreference'),
    serviceSelectors,
    // Two clusters in one input may have peers of one name.
    peers: [...new Set(users.flatMap(({ names }) => names))],
  };
  if (!isSelective) {
    fields.note('selector', 'is not set: Cilium announces nothing by this advertisement, so no BGPAdvertisement is written');
    return [];
  }
  if (spec.addressTypes.includes('ExternalIP'))
    service.lose(
      'addresses',
      'has ExternalIP: Herald announces external IPs only where an ExternalIPPolicy allows them',
      'write an ExternalIPPolicy with the networks that external IPs may come from',
    );
  return serviceSelectors === undefined ? [] : [manifest('BGPAdvertisement', name, spec)];
}

/** Marks the fields of an advertisement that is lost as a whole as read, so that one remark is enough. */
function ignored(fields: Fields, name: string): void {
  if (name === 'selector') fields.value('selector');
  if (name === 'service')
    for (const one of ['addresses', 'aggregationLengthIPv4', 'aggregationLengthIPv6']) fields.within('service').value(one);
  if (name !== 'attributes') return;
  const attributes = fields.within('attributes');
  attributes.value('localPreference');
  communitiesOf(attributes.within('communities'));
}

/** A selector of Kubernetes against labels. Absent: it selects nothing. */
function matches(selector: unknown, labels: Readonly<Record<string, unknown>>): boolean {
  if (!isRecord(selector)) return false;
  const equal = Object.entries(isRecord(selector['matchLabels']) ? selector['matchLabels'] : {});
  const expressions: readonly unknown[] = Array.isArray(selector['matchExpressions']) ? selector['matchExpressions'] : [];
  return equal.every(([key, value]) => labels[key] === value) && expressions.every((one) => isRecord(one) && holds(one, labels));
}

function holds({ key, operator, values }: Readonly<Record<string, unknown>>, labels: Readonly<Record<string, unknown>>): boolean {
  const value = typeof key === 'string' && Object.hasOwn(labels, key) ? labels[key] : undefined;
  const listed = Array.isArray(values) && value !== undefined && values.includes(value);
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  return operator === 'NotIn' ? !listed : listed;
}
