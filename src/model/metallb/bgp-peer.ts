import { isRecord } from '../../lang/is-record.ts';
import { parseDuration } from '../reading/duration.ts';
import { normaliseAddress } from './addresses.ts';
import { note, type FieldContext, type FieldRow, type TranslatedValue } from './rows.ts';

const holdTime =
  "Default: 90 s, as in MetalLB's native mode; FRR has 180 s. The peers agree on the lower of their two. Fractions of a second are cut off, as FRR does.";

const keepaliveTime =
  'Default: a third of the hold time. `0s`, which is in samples of MetalLB, means the default, as in native mode; in FRR mode MetalLB passes 0 to FRR.';

/** Fields of a metallb.io/v1beta2 BGPPeer. */
export const peerRows: readonly FieldRow[] = [
  {
    field: 'myASN',
    does: 'same',
    text: 'Peers of one node may have different ones, which FRR cannot have in one VRF. 23456, which is AS_TRANS, is refused.',
  },
  { field: 'peerASN', does: 'same', text: '23456 is refused.' },
  { field: 'dynamicASN', does: 'same', text: '' },
  { field: 'localASN', does: 'same', text: '23456 is refused.' },
  {
    field: 'peerAddress',
    does: 'same',
    text: '',
    translate: (value) => ({ value: normaliseAddress(value) }),
  },
  { field: 'interface', does: 'same', text: 'May be set together with `peerAddress`: the session is then bound to the interface.' },
  { field: 'sourceAddress', does: 'same', text: '', translate: (value) => ({ value: normaliseAddress(value) }) },
  { field: 'peerPort', does: 'same', text: 'Up to 65535.' },
  { field: 'holdTime', does: 'differs', text: holdTime, translate: wholeSeconds },
  { field: 'keepaliveTime', does: 'differs', text: keepaliveTime, translate: wholeSeconds },
  { field: 'connectTime', does: 'same', text: 'Default: 5 s.' },
  { field: 'routerID', does: 'differs', text: 'Only an IPv4 address. Peers of one node may have different ones.' },
  { field: 'nodeSelectors', does: 'same', text: '' },
  { field: 'password', does: 'same', text: '' },
  {
    field: 'passwordSecret',
    does: 'same',
    text: 'The Secret is read in the namespace of the BGPPeer, whatever `namespace` says, as in MetalLB; the agents need a Role there (manifests/components/metallb). Without it only this session waits; MetalLB rejects the whole configuration.',
    translate: passwordSecret,
  },
  {
    field: 'bfdProfile',
    does: 'same',
    text: 'Without the BFDProfile the session starts without BFD and reports that ([BFDProfileMissing](reasons.md)); MetalLB then rejects the whole configuration.',
  },
  {
    field: 'enableGracefulRestart',
    does: 'same',
    text: 'May be changed, which resets the session.',
  },
  {
    field: 'ebgpMultiHop',
    does: 'differs',
    text: 'As in FRR mode: an external peer that is not on a connected network needs it. In native mode MetalLB behaves as if it were always set. With an internal or a link-local peer it is refused.',
  },
  {
    field: 'vrf',
    does: 'differs',
    text: 'The session runs in the VRF. With `interface` or `bfdProfile` it is refused. Where the node has no such VRF, [PeerVRFMissing](reasons.md) says so.',
  },
  {
    field: 'disableMP',
    does: 'same',
    text: 'Left out: deprecated, and without effect in MetalLB since `dualStackAddressFamily` exists.',
    translate: (value) => ({
      findings: value === true ? [note('has no effect, as in MetalLB: dualStackAddressFamily decides', 'remove disableMP')] : [],
    }),
  },
  { field: 'dualStackAddressFamily', does: 'same', text: '' },
];

const inFirstVersion = new Set([
  'myASN',
  'peerASN',
  'peerAddress',
  'sourceAddress',
  'peerPort',
  'holdTime',
  'keepaliveTime',
  'routerID',
  'nodeSelectors',
  'password',
  'bfdProfile',
  'ebgpMultiHop',
]);

/**
 * Fields of a metallb.io/v1beta1 BGPPeer. Its API server writes "0s" for a duration and 0 for a port that were not set, so both count as
 * not set.
 */
export const firstPeerRows: readonly FieldRow[] = peerRows
  .filter(({ field }) => inFirstVersion.has(field))
  .map((row) => {
    if (row.field === 'holdTime') return { ...row, text: `${row.text} In v1beta1 0s is "not written".`, translate: unlessZero };
    if (row.field === 'peerPort') return { ...row, translate: (value: unknown) => (value === 0 ? {} : { value }) };
    return row;
  });

/** Rounds a duration down to whole seconds, as BGP carries it. Leaves anything else to the parser. */
function wholeSeconds(value: unknown): TranslatedValue {
  const duration = typeof value === 'string' ? parseDuration(value) : undefined;
  if (duration?.ok !== true || Number.isInteger(duration.value)) return { value };
  return { value: `${Math.floor(duration.value)}s` };
}

function unlessZero(value: unknown): TranslatedValue {
  const duration = typeof value === 'string' ? parseDuration(value) : undefined;
  if (duration?.ok === true && duration.value === 0) return {};
  return wholeSeconds(value);
}

function passwordSecret(value: unknown, { namespace }: FieldContext): TranslatedValue {
  if (!isRecord(value)) return { value };
  const { name, namespace: written } = value;
  // The API server stores an empty reference when none was written.
  if (name === undefined || name === '') return written === undefined || written === '' ? {} : { value };
  const elsewhere = typeof written === 'string' && written !== '' && written !== namespace;
  return {
    value: { name, namespace },
    findings: elsewhere ? [note(`is read in namespace ${namespace}, as in MetalLB, and not in the namespace written here`, '')] : [],
  };
}
