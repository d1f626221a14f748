import { defined } from '../../../lang/defined.ts';
import { parseAddressLeniently, type Address } from '../../../net/address.ts';
import { parsePrefixLeniently, type Prefix } from '../../../net/prefix.ts';
import type { Node } from '../../objects/cluster.ts';
import { annotations } from '../../annotations.ts';
import { limits } from '../../limits.ts';
import type { Labels } from '../../objects/metadata.ts';
import { readMetadata } from '../../reading/metadata.ts';
import type { FieldReader } from '../../reading/fields.ts';
import type { ParseOptions, ReadResult } from '../../reading/result.ts';

/** The cluster autoscaler sets this taint before it removes a node. */
const toBeDeletedTaint = 'ToBeDeletedByClusterAutoscaler';

/** Karpenter sets this taint before it replaces a node. */
const disruptedTaint = 'karpenter.sh/disrupted:NoSchedule';

/** Reads a core/v1 Node. The API server does not validate addresses, so an unreadable one is left out with a warning. */
export function readNode(fields: FieldReader, options: ParseOptions): ReadResult<Node> {
  const metadata = readMetadata(fields, 'Node', 'cluster', options);
  const spec = fields.object('spec');
  const podCIDRs = readPodCIDRs(spec);
  const status = fields.object('status');
  const addresses = status.objects('addresses', limits.nodeAddresses);
  const internalIPs = readAddresses(addresses, 'InternalIP');
  const externalIPs = readAddresses(addresses, 'ExternalIP');
  const conditions = new Map<string, string>();
  for (const item of status.objects('conditions', limits.names)) conditions.set(item.text('type') ?? '', item.text('status') ?? '');
  const taints = spec.objects('taints', limits.names).map((item) => `${item.text('key')}:${item.text('effect')}`);
  const keys = [...new Set(spec.objects('taints', limits.names).flatMap((item) => item.text('key') ?? []))].toSorted();
  const providerID = spec.text('providerID') ?? '';
  if (metadata === undefined) return {};
  const drain = readDrain(fields, metadata.annotations);
  return {
    object: {
      kind: 'Node',
      // Drops annotations: programs keep heartbeats in them, and decisions read only `drain`.
      metadata: { ...metadata, annotations: {} },
      internalIPs,
      ...(externalIPs.length === 0 ? {} : { externalIPs }),
      podCIDRs,
      networkUnavailable: conditions.get('NetworkUnavailable') === 'True',
      ready: (conditions.get('Ready') ?? 'True') === 'True',
      ...(conditions.get('Ready') === 'Unknown' ? { kubeletSilent: true } : {}),
      toBeDeleted: taints.some((taint) => taint.startsWith(`${toBeDeletedTaint}:`)),
      ...(taints.includes(disruptedTaint) ? { disrupted: true } : {}),
      ...defined({ drain }),
      ...(keys.length === 0 ? {} : { taints: keys }),
      ...(providerID === '' ? {} : { providerID }),
    },
  };
}

function readAddresses(items: readonly FieldReader[], type: 'InternalIP' | 'ExternalIP'): Address[] {
  return items.flatMap((item): Address[] => {
    if (item.text('type') !== type) return [];
    const result = parseAddressLeniently(item.text('address') ?? '');
    if (result.ok) return [result.value];
    item.warning('address', `is left out: ${result.problem}`, '');
    return [];
  });
}

/** Reads the drain annotation. An invalid value is left out, because a mistake must neither drain a node nor remove it from the cluster. */
function readDrain(fields: FieldReader, values: Labels): Node['drain'] {
  const written = values[annotations.nodeDrain] ?? '';
  if (written === 'true') return 'keepLast';
  if (written === 'force') return 'force';
  if (written === '' || written === 'false') return undefined;
  return fields.annotationProblem(annotations.nodeDrain, written, 'write "true", "force" or "false"');
}

function readPodCIDRs(spec: FieldReader): Prefix[] {
  const single = spec.parsed('podCIDR', parsePrefixLeniently);
  const list = spec.parsedList('podCIDRs', 2, parsePrefixLeniently);
  return list.length > 0 || single === undefined ? list : [single];
}
