import { Fields } from '../reading/fields.ts';
import { lost, to, type SourceKind } from '../reading/source-kind.ts';
import { secretReference } from '../reading/secret.ts';
import { imported, manifest, nameOf, partsOf, type ImportedDocument, type Manifest, type SourceDocument } from '../tool.ts';
import { familiesOf, seconds } from './peer-config.ts';
import { labelChoice } from './service-selector.ts';

const neighbor = (field: string): string => `virtualRouters[].neighbors[].${field}`;

/** pkg/k8s/apis/cilium.io/v2alpha1/bgp_types.go of Cilium 1.12 to 1.18, the predecessor of CiliumBGPClusterConfig. */
export const cPeeringPolicy: SourceKind = {
  tool: 'Cilium',
  kind: 'CiliumBGPPeeringPolicy',
  root: 'spec.',
  fields: [
    to('nodeSelector', 'BGPPeer `nodeSelectors`'),
    to('virtualRouters[].localASN', 'BGPPeer `myASN`'),
    lost(
      'virtualRouters[].exportPodCIDR',
      'is true: Herald announces Services only, and no networks of pods',
      'let the network plugin route to pods without BGP: docs/how-to/beside-calico-or-cilium.md',
    ),
    lost(
      'virtualRouters[].podIPPoolSelector',
      'selects networks of pods: Herald announces Services only',
      'let the network plugin route to pods without BGP',
    ),
    to(
      'virtualRouters[].serviceSelector',
      'BGPAdvertisement `serviceSelectors`. Without a selector Cilium announces no Services, and no BGPAdvertisement is written.',
    ),
    to('virtualRouters[].serviceAdvertisements', 'BGPAdvertisement `addressTypes`'),
    to(neighbor('peerAddress'), 'BGPPeer `peerAddress`, without its length'),
    to(neighbor('peerASN'), 'BGPPeer `peerASN`'),
    to(neighbor('peerPort'), 'BGPPeer `peerPort`'),
    to(neighbor('authSecretRef'), 'BGPPeer `passwordSecret`. The Secret needs type kubernetes.io/basic-auth: the report has the command.'),
    to(neighbor('eBGPMultihopTTL'), 'BGPPeer `ebgpMultiHop`, true above 1. The number itself is lost.'),
    to(neighbor('connectRetryTimeSeconds'), 'BGPPeer `connectTime`, in seconds'),
    to(neighbor('holdTimeSeconds'), 'BGPPeer `holdTime`, in seconds'),
    to(neighbor('keepAliveTimeSeconds'), 'BGPPeer `keepaliveTime`, in seconds'),
    to(neighbor('gracefulRestart.enabled'), 'BGPPeer `enableGracefulRestart`'),
    lost(neighbor('gracefulRestart.restartTimeSeconds'), 'is left out: Herald asks routers to keep routes for 120 s'),
    to(neighbor('families[].afi'), 'Both families: BGPPeer `dualStackAddressFamily`'),
    to(neighbor('families[].safi'), 'Only `unicast` has an equivalent.'),
    lost(
      neighbor('advertisedPathAttributes'),
      'has communities or a local preference for some routes, and is left out',
      'write a BGPAdvertisement with these communities and localPref, and serviceSelectors or ipAddressPools',
    ),
  ],
};

export function ciliumPeeringPolicy(document: SourceDocument): ImportedDocument {
  const { name, spec } = partsOf(document.raw);
  const fields = Fields.of(cPeeringPolicy, spec);
  const selector = fields.value('nodeSelector');
  const routers = fields.items('virtualRouters');
  const manifests = routers.flatMap((router, index) => {
    const routerName = routers.length === 1 ? name : `${name}-${index + 1}`;
    const myASN = router.number('localASN');
    const neighbors = router.items('neighbors').map((one, at) =>
      manifest('BGPPeer', `${routerName}-peer${at + 1}`, {
        myASN,
        ...peerSpec(one),
        nodeSelectors: selector === undefined ? [] : [selector],
      }),
    );
    return [...neighbors, ...announcement(router, routerName, neighbors.map(nameOf))];
  });
  return imported(document, fields, manifests);
}

function peerSpec(fields: Fields): Readonly<Record<string, unknown>> {
  const [address] = (fields.text('peerAddress') ?? '').split('/', 1);
  const families = fields.items('families').flatMap((family) => {
    const safi = family.text('safi');
    const afi = family.text('afi') ?? '';
    return safi === 'unicast' ? [afi] : [];
  });
  // Without families Cilium negotiates both.
  const { dualStack } = familiesOf(address, new Set(families.length === 0 ? ['ipv4', 'ipv6'] : families));
  const port = fields.number('peerPort');
  return {
    peerASN: fields.number('peerASN'),
    peerAddress: address,
    peerPort: port === 179 ? undefined : port,
    passwordSecret: secretReference(fields, 'authSecretRef', fields.text('authSecretRef'), 'kube-system'),
    ebgpMultiHop: (fields.number('eBGPMultihopTTL') ?? 1) > 1 ? true : undefined,
    connectTime: seconds(fields.number('connectRetryTimeSeconds')),
    holdTime: seconds(fields.number('holdTimeSeconds')),
    keepaliveTime: seconds(fields.number('keepAliveTimeSeconds')),
    enableGracefulRestart: fields.within('gracefulRestart').flag('enabled') === true ? true : undefined,
    dualStackAddressFamily: dualStack,
  };
}

const addressTypes: Readonly<Record<string, string>> = { LoadBalancerIP: 'LoadBalancer', ClusterIP: 'ClusterIP', ExternalIP: 'ExternalIP' };

function announcement(router: Fields, name: string, peers: readonly string[]): Manifest[] {
  const isSelective = router.names().includes('serviceSelector');
  const serviceSelectors = labelChoice(router, 'serviceSelector');
  const types = router.texts('serviceAdvertisements').map((one) => addressTypes[one] ?? one);
  if (!isSelective) {
    router.note('serviceSelector', 'is not set: Cilium announces no Services by this policy, so no BGPAdvertisement is written');
    return [];
  }
  return serviceSelectors === undefined ? [] : [manifest('BGPAdvertisement', name, { addressTypes: types, serviceSelectors, peers })];
}
