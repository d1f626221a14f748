import { readAttributes } from '../../system/netlink/attributes.ts';
import type { Message } from '../../system/netlink/message.ts';
import { netfilterHeaderBytes } from '../nftables/netlink/batch.ts';
import { elementListAttributes, messages, protocolFamily, tableAttribute } from '../nftables/netlink/constants.ts';
import { attributeText, parseSetElements } from '../nftables/netlink/elements/entries.ts';
import { families } from '../ruleset/layout.ts';
import { frontendOfKey, kubeProxyMaps, kubeProxyTable } from './nftables-maps.ts';
import type { MapKind } from './seen-frontends.ts';

/** A change of kube-proxy's maps. structure: a table or a set was created or removed, so the maps must be read again. */
export type MapEvent =
  | { readonly kind: 'structure' }
  | { readonly kind: 'added' | 'removed'; readonly part: MapKind; readonly frontends: readonly string[] };

const structuralMessages: ReadonlySet<number> = new Set([messages.newTable, messages.delTable, messages.newSet, messages.delSet]);

/** Returns undefined for messages about anything else than kube-proxy's maps. */
export function readMapEvent(message: Message): MapEvent | undefined {
  const isElement = message.type === messages.newElement || message.type === messages.delElement;
  if (!isElement && !structuralMessages.has(message.type)) return undefined;
  const family = families.find((each) => message.payload[0] === protocolFamily[each === 4 ? 'ip' : 'ip6']);
  if (family === undefined) return undefined;
  const attributes = message.payload.subarray(netfilterHeaderBytes);
  const byType = readAttributes(attributes);
  if (attributeText(byType, tableAttribute) !== kubeProxyTable) return undefined;
  if (!isElement) return { kind: 'structure' };
  const part = kubeProxyMaps[attributeText(byType, elementListAttributes.set)];
  if (part === undefined) return undefined;
  const frontends = parseSetElements(attributes).flatMap(({ key }) => frontendOfKey(family, Buffer.from(key, 'latin1')) ?? []);
  return { kind: message.type === messages.newElement ? 'added' : 'removed', part, frontends };
}
