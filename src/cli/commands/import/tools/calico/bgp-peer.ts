import { Fields } from '../reading/fields.ts';
import { oneNode } from '../reading/node-selectors.ts';
import { secretReference } from '../reading/secret.ts';
import { kept, lost, to, type SourceKind } from '../reading/source-kind.ts';
import { imported, manifest, partsOf, type ImportedDocument, type SourceDocument } from '../tool.ts';
import { asNumber, type CalicoDefaults } from './bgp-configuration.ts';
import { labelSelectors } from './selector.ts';

/** api/pkg/apis/projectcalico/v3/bgppeer.go of Calico. */
export const calicoPeer: SourceKind = {
  tool: 'Calico',
  kind: 'BGPPeer',
  root: 'spec.',
  fields: [
    to('peerIP', 'BGPPeer `peerAddress` and, after a colon, `peerPort`'),
    to('asNumber', 'BGPPeer `peerASN`, also written as 65000.1'),
    to('node', 'BGPPeer `nodeSelectors` by the label `kubernetes.io/hostname`'),
    to(
      'nodeSelector',
      'BGPPeer `nodeSelectors`; each part of `||` becomes a selector of its own. `contains`, `starts with` and `ends with` have no equivalent: no BGPPeer is written.',
    ),
    to('peerSelector', 'Selects nodes as peers: that mesh stays with Calico, and no BGPPeer is written.'),
    to(
      'password.secretKeyRef.name',
      'BGPPeer `passwordSecret`. The Secret needs type kubernetes.io/basic-auth: the report has the command.',
    ),
    to('password.secretKeyRef.key', 'The key in that command'),
    kept('password.secretKeyRef.optional', 'is not needed: without the Secret this session waits, and the others go on'),
    to('maxRestartTime', 'BGPPeer `enableGracefulRestart`. The time itself is lost: Herald asks for 120 s.'),
    to('ttlSecurity', 'BGPPeer `ttlSecurityHops`'),
    to('localASNumber', 'BGPPeer `localASN`'),
    kept(
      'sourceAddress',
      'is not needed: the kernel chooses the address of the link to the router',
      'set sourceAddress if the router knows the nodes by another address',
    ),
    lost('keepOriginalNextHop', 'is true: Herald announces itself as the next hop'),
    lost('nextHopMode', 'has no equivalent: Herald announces itself as the next hop'),
    lost('numAllowedLocalASNumbers', 'concerns routes that nodes receive', 'see import of a BGPPeer, docs/how-to/receive-routes.md'),
    lost('filters', "names filters of Calico's routes, which Herald does not have", 'check that the router has no route too many'),
    kept('reachableBy', 'is about a static route of Calico to the router', 'keep that route, or write ebgpMultiHop: true'),
    kept('localWorkloadSelector', 'selects pods as peers, which stay with Calico'),
    kept('reversePeering', "is about Calico's mesh"),
  ],
};

export function calicoPeerObjects(document: SourceDocument, { asn }: CalicoDefaults): ImportedDocument {
  const { name, spec } = partsOf(document.raw);
  const fields = Fields.of(calicoPeer, spec);
  const peerSelector = fields.text('peerSelector');
  const peerIP = fields.text('peerIP');
  const node = fields.text('node');
  const nodeSelectors = selectorsOf(fields, node);
  const peerASN = asNumber(fields.value('asNumber'));
  const written = {
    ...addressOf(peerIP ?? ''),
    myASN: asn,
    peerASN,
    nodeSelectors,
    passwordSecret: passwordOf(fields),
    enableGracefulRestart: fields.text('maxRestartTime') === undefined ? undefined : true,
    ttlSecurityHops: fields.number('ttlSecurity'),
    localASN: asNumber(fields.value('localASNumber')),
  };
  if (peerSelector !== undefined || peerIP === undefined) {
    fields.note(
      peerSelector === undefined ? 'peerIP' : 'peerSelector',
      'selects nodes as peers: that mesh stays with Calico, and no BGPPeer is written',
    );
    return imported(document, fields, []);
  }
  if (nodeSelectors === undefined) return imported(document, fields, []);
  if (peerASN !== undefined && peerASN !== asn)
    fields.note(
      'peerIP',
      'may be beyond a router in Calico, which always allows several hops',
      'write ebgpMultiHop: true if the router is on no network of the nodes',
    );
  fields.note(
    '',
    'is a session that Calico holds now: a router accepts one from each node',
    'docs/how-to/beside-calico-or-cilium.md has the order',
  );
  return imported(document, fields, [manifest('BGPPeer', name, written)]);
}

/** Reads "192.0.2.1", "192.0.2.1:1179" and "[2001:db8::1]:1179". */
function addressOf(text: string): { readonly peerAddress: string; readonly peerPort?: number } {
  const found = /^\[([^\]]+)\](?::([0-9]+))?$/.exec(text) ?? /^([0-9.]+):([0-9]+)$/.exec(text);
  const [, address = text, port] = found ?? [];
  return { peerAddress: address, ...(port === undefined || port === '179' ? {} : { peerPort: Number(port) }) };
}

function selectorsOf(fields: Fields, node: string | undefined): readonly object[] | undefined {
  const text = fields.text('nodeSelector');
  if (node !== undefined) return [oneNode(node)];
  if (text === undefined) return [];
  const result = labelSelectors(text);
  if (result.ok) return result.selectors;
  fields.refuse(
    'nodeSelector',
    `${result.problem}: no BGPPeer is written, because it would be for every node`,
    'label the nodes, and select them by that label',
  );
  return undefined;
}

function passwordOf(fields: Fields): object | undefined {
  const reference = fields.within('password').within('secretKeyRef');
  const [name, key] = [reference.text('name'), reference.text('key')];
  return secretReference(reference, 'name', name, 'calico-system', key);
}
