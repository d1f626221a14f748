import { isRecord } from '../../../../../lang/is-record.ts';
import { Fields } from '../reading/fields.ts';
import { limitedTo } from '../reading/node-selectors.ts';
import { kept, lost, to, type SourceKind } from '../reading/source-kind.ts';
import { imported, judged, manifest, nameOf, partsOf, type ImportedDocument, type Manifest, type SourceDocument } from '../tool.ts';
import { cPeerConfig, familiesOf, peerSettings, type PeerSettings } from './peer-config.ts';

/** pkg/k8s/apis/cilium.io/v2/bgp_cluster_types.go of Cilium. */
export const cClusterConfig: SourceKind = {
  tool: 'Cilium',
  kind: 'CiliumBGPClusterConfig',
  root: 'spec.',
  fields: [
    to('nodeSelector', 'BGPPeer `nodeSelectors`'),
    to('bgpInstances[].name', 'Part of the name of each BGPPeer: `CONFIG-INSTANCE-PEER`'),
    to('bgpInstances[].localASN', 'BGPPeer `myASN`'),
    lost(
      'bgpInstances[].localPort',
      'is left out: Herald listens only for passive peers',
      'set --bgp-listen of the agent, and passive: true, if the router connects to the nodes',
    ),
    to('bgpInstances[].peers[].name', 'Part of the name of the BGPPeer'),
    to('bgpInstances[].peers[].peerAddress', 'BGPPeer `peerAddress`; a zone (`%eth0`) becomes `interface`'),
    to('bgpInstances[].peers[].peerASN', 'BGPPeer `peerASN`. 0 means any AS number in Cilium: write the number, or `dynamicASN`.'),
    to('bgpInstances[].peers[].peerConfigRef.name', 'The CiliumBGPPeerConfig whose fields go into the BGPPeer'),
    kept('bgpInstances[].peers[].peerConfigRef.group', 'is always cilium.io'),
    kept('bgpInstances[].peers[].peerConfigRef.kind', 'is always CiliumBGPPeerConfig'),
    to(
      'bgpInstances[].peers[].autoDiscovery.mode',
      '`Unnumbered`: BGPPeer `interface`. `DefaultGateway` has no equivalent: no BGPPeer is written.',
    ),
    to('bgpInstances[].peers[].autoDiscovery.unnumbered.interface', 'BGPPeer `interface`'),
    kept('bgpInstances[].peers[].autoDiscovery.defaultGateway.addressFamily', 'belongs to the discovery of the router'),
    kept('status', 'is written by Cilium'),
  ],
};

/** pkg/k8s/apis/cilium.io/v2/bgp_node_override_types.go of Cilium. */
export const cNodeOverride: SourceKind = {
  tool: 'Cilium',
  kind: 'CiliumBGPNodeConfigOverride',
  root: 'spec.',
  fields: [
    to('bgpInstances[].name', 'The instance whose peers get a BGPPeer of their own for the node'),
    to('bgpInstances[].routerID', 'BGPPeer `routerID`'),
    to('bgpInstances[].localASN', 'BGPPeer `myASN`'),
    lost('bgpInstances[].localPort', 'is left out: Herald listens only for passive peers', 'set --bgp-listen of the agent of that node'),
    to('bgpInstances[].peers[].name', 'The peer of the instance'),
    to('bgpInstances[].peers[].localAddress', 'BGPPeer `sourceAddress`'),
    kept('bgpInstances[].peers[].localPort', 'has no effect in Cilium either'),
  ],
};

/** A session of the configuration: the BGPPeers that it became, and the CiliumBGPPeerConfig that it uses. */
export interface CiliumPeer {
  readonly names: readonly string[];
  readonly settings: PeerSettings;
}

interface PeerConfigs {
  readonly settings: ReadonlyMap<string, PeerSettings>;
  readonly documents: readonly ImportedDocument[];
}

/** Reads every CiliumBGPPeerConfig. They become no objects of their own. */
export function ciliumPeerConfigs(documents: readonly SourceDocument[]): PeerConfigs {
  const settings = new Map<string, PeerSettings>();
  const results = documents.map((document) => {
    const { name, spec } = partsOf(document.raw);
    const fields = Fields.of(cPeerConfig, spec);
    settings.set(name, peerSettings(fields));
    return imported(document, fields, []);
  });
  return { settings, documents: results };
}

interface Override {
  readonly node: string;
  readonly fields: Fields;
}

/** Translates the cluster configurations with the node's exceptions. */
export function ciliumPeers(
  configs: readonly SourceDocument[],
  overrideDocuments: readonly SourceDocument[],
  known: ReadonlyMap<string, PeerSettings>,
): { readonly documents: readonly ImportedDocument[]; readonly peers: readonly CiliumPeer[] } {
  const overrides = overrideDocuments.map((document) => {
    const { name, spec } = partsOf(document.raw);
    return { document, node: name, fields: Fields.of(cNodeOverride, spec) };
  });
  const peers: CiliumPeer[] = [];
  const documents = configs.map((document) => {
    const { name, spec } = partsOf(document.raw);
    const fields = Fields.of(cClusterConfig, spec);
    const nodeSelector = fields.value('nodeSelector');
    const written = fields.items('bgpInstances').flatMap((instance) => {
      const instanceName = instance.text('name') ?? '';
      const own = overrides.flatMap(({ node, fields: all }) =>
        all.items('bgpInstances').flatMap((one): Override[] => (one.text('name') === instanceName ? [{ node, fields: one }] : [])),
      );
      const myASN = instance.number('localASN');
      return instance.items('peers').flatMap((peer) => {
        const settings = settingsOf(peer, known);
        const made = peerManifests(peer, [name, instanceName], { myASN, nodeSelector, settings, overrides: own });
        peers.push({ names: made.map(nameOf), settings });
        return made;
      });
    });
    return imported(document, fields, written);
  });
  return { documents: [...documents, ...overrides.map(({ document, fields }) => imported(document, fields, []))], peers };
}

const noSettings = peerSettings(Fields.of(cPeerConfig, {}));

function settingsOf(peer: Fields, known: ReadonlyMap<string, PeerSettings>): PeerSettings {
  const reference = peer.within('peerConfigRef').text('name');
  const settings = reference === undefined ? undefined : known.get(reference);
  if (reference !== undefined && settings === undefined)
    peer
      .within('peerConfigRef')
      .lose(
        'name',
        `names CiliumBGPPeerConfig ${reference}, which is not in the input: the peer has default settings`,
        'import it together with that object',
      );
  return settings ?? noSettings;
}

interface Surroundings {
  readonly myASN: number | undefined;
  readonly nodeSelector: unknown;
  readonly settings: PeerSettings;
  readonly overrides: readonly Override[];
}

/** Returns a BGPPeer for the nodes without exceptions, and one for each node with one. */
function peerManifests(peer: Fields, prefix: readonly string[], { myASN, nodeSelector, settings, overrides }: Surroundings): Manifest[] {
  const name = [...prefix, peer.text('name') ?? ''].join('-');
  const [address, zone] = (peer.text('peerAddress') ?? '').trim().split('%', 2);
  const peerASN = peer.number('peerASN') ?? 0;
  const discovery = peer.within('autoDiscovery');
  const mode = discovery.text('mode');
  const device = mode === 'Unnumbered' ? discovery.within('unnumbered').text('interface') : zone;
  if (mode === 'DefaultGateway' && address === '') {
    discovery.refuse(
      'mode',
      'is DefaultGateway, which Herald does not have: no BGPPeer is written',
      'write a BGPPeer with the address of the router',
    );
    return [];
  }
  if (peerASN === 0) {
    peer.refuse(
      'peerASN',
      'is 0, which in Cilium means any AS number: no BGPPeer is written',
      'write the AS number of the router, or a BGPPeer with dynamicASN: external',
    );
    return [];
  }
  const { dualStack, beyond } = familiesOf(address === '' ? undefined : address, settings.families);
  if (beyond !== undefined)
    peer.lose(
      'peerAddress',
      `is ${beyond}, and its families leave ${beyond} out: Herald's session carries both`,
      'give the peer an address of the other family',
    );
  const spec = {
    ...settings.spec,
    myASN,
    peerASN,
    peerAddress: address === '' ? undefined : address,
    interface: device,
    dualStackAddressFamily: dualStack,
  };
  const nodes = overrides.map(({ node }) => node);
  const others = nodes.length === 0 ? nodeSelector : limitedTo(nodeSelector, 'NotIn', nodes);
  const general = manifest('BGPPeer', name, { ...spec, nodeSelectors: others === undefined || isEmpty(others) ? [] : [others] });
  return [
    general,
    ...overrides.map(({ node, fields }) => {
      const own = fields.items('peers').find((one) => one.text('name') === peer.text('name'));
      const localASN = fields.number('localASN');
      return manifest('BGPPeer', `${name}-${node}`, {
        ...spec,
        myASN: localASN ?? myASN,
        routerID: fields.text('routerID'),
        sourceAddress: own?.text('localAddress')?.trim(),
        nodeSelectors: [limitedTo(nodeSelector, 'In', [node])],
      });
    }),
  ];
}

const isEmpty = (selector: unknown): boolean => isRecord(selector) && Object.keys(selector).length === 0;

/** Objects that the operator of Cilium writes for each node. */
export const ciliumNodeConfig = (document: SourceDocument): ImportedDocument =>
  judged(document, [{ level: 'note', field: 'kind', message: 'is written by Cilium, and configures nothing', fix: '' }], []);
