import { defined } from '../../../lang/defined.ts';
import { addressFromBytes, bitsOf, type Address, type Family } from '../../../net/address.ts';
import { formatPrefix, maskedPrefix, prefixContains, type Prefix } from '../../../net/prefix.ts';
import { readAttributes, readHostNumber, readText } from '../../../system/netlink/attributes.ts';

/** The numbers of linux/fib_rules.h that a rule needs. */
const attributeNumbers = {
  destination: 1,
  source: 2,
  incoming: 3,
  preference: 6,
  mark: 10,
  table: 15,
  maskOfMark: 16,
  outgoing: 17,
} as const;
/** FRA_L3MDEV, FRA_UID_RANGE, FRA_IP_PROTO, FRA_SPORT_RANGE and FRA_DPORT_RANGE: no question tells of these. */
const unclearAttributes = [19, 20, 22, 23, 24] as const;
const inverted = 0x2;
/** Octets of struct fib_rule_hdr. */
const headerBytes = 12;
const actions: Readonly<Record<number, DroppingAction | 'lookup'>> = { 1: 'lookup', 6: 'blackhole', 7: 'unreachable', 8: 'prohibit' };
const tableNames: Readonly<Record<number, string>> = { 253: 'default', 254: 'main', 255: 'local' };

type DroppingAction = 'blackhole' | 'unreachable' | 'prohibit';

/** A rule of the kernel's routing policy (ip rule). */
export interface PolicyRule {
  readonly preference: number;
  readonly action: DroppingAction | 'lookup' | 'other';
  readonly table: number;
  readonly source?: Prefix;
  readonly destination?: Prefix;
  /** Name of the interface by which packets come in. */
  readonly incoming?: string;
  /** "0xca6c", or "0x80000/0xff0000". */
  readonly mark?: string;
  /** It is for packets that this host sends. */
  readonly isOfHost: boolean;
  readonly isInverted: boolean;
  /** It matches by a port, a user or a type of service, or leads to the tables of VRFs. */
  readonly isUnclear: boolean;
}

/** A packet that this host passes on. */
export interface PassedPacket {
  readonly source: Address;
  readonly destination: Address;
  readonly incoming: string;
}

export function readPolicyRule(payload: Uint8Array): PolicyRule {
  const attributes = readAttributes(payload.subarray(headerBytes));
  const number = (attribute: number): number | undefined => readHostNumber(attributes.get(attribute));
  const text = (attribute: number): string | undefined => {
    const octets = attributes.get(attribute);
    return octets === undefined ? undefined : readText(octets);
  };
  const [, destinationLength = 0, sourceLength = 0, typeOfService = 0, table = 0, , , action = 0] = payload;
  const [mark, mask = wholeMask] = [number(attributeNumbers.mark), number(attributeNumbers.maskOfMark)];
  const isMarked = mark !== undefined && mark !== 0;
  return {
    preference: number(attributeNumbers.preference) ?? 0,
    action: actions[action] ?? 'other',
    table: number(attributeNumbers.table) ?? table,
    ...defined({
      source: prefixOf(attributes.get(attributeNumbers.source), sourceLength),
      destination: prefixOf(attributes.get(attributeNumbers.destination), destinationLength),
      incoming: text(attributeNumbers.incoming),
      mark: isMarked ? `0x${mark.toString(16)}${mask === wholeMask ? '' : `/0x${mask.toString(16)}`}` : undefined,
    }),
    isOfHost: attributes.has(attributeNumbers.outgoing) || text(attributeNumbers.incoming) === 'lo',
    isInverted: ((readHostNumber(payload.subarray(8, 12)) ?? 0) & inverted) !== 0,
    isUnclear: typeOfService !== 0 || unclearAttributes.some((each) => (attributes.get(each) ?? []).some((octet) => octet !== 0)),
  };
}

const wholeMask = 0xffff_ffff;

function prefixOf(octets: Uint8Array | undefined, length: number): Prefix | undefined {
  return octets?.length === 4 || octets?.length === 16 ? maskedPrefix(addressFromBytes(octets), length) : undefined;
}

/** True when the rule is for a packet without a mark. Marks are for the packets of the programs that set them, such as a VPN. */
export function isFor({ source, destination, incoming, mark, isOfHost, isInverted }: PolicyRule, packet: PassedPacket): boolean {
  const matches =
    !isOfHost &&
    mark === undefined &&
    (source === undefined || prefixContains(source, packet.source)) &&
    (destination === undefined || prefixContains(destination, packet.destination)) &&
    (incoming === undefined || incoming === packet.incoming);
  return matches !== isInverted;
}

/** Returns "5270 (from all lookup 52)", as ip(8) prints it. */
export function policyRuleText({ preference, action, table, source, destination, incoming, mark, isInverted }: PolicyRule): string {
  const words = [
    ...(isInverted ? ['not'] : []),
    'from',
    source === undefined ? 'all' : prefixText(source),
    ...(destination === undefined ? [] : ['to', prefixText(destination)]),
    ...(mark === undefined ? [] : ['fwmark', mark]),
    ...(incoming === undefined ? [] : ['iif', incoming]),
    ...(action === 'lookup' ? ['lookup', tableNames[table] ?? String(table)] : [action]),
  ];
  return `${preference} (${words.join(' ')})`;
}

function prefixText(prefix: Prefix): string {
  const text = formatPrefix(prefix);
  return prefix.length === bitsOf(prefix.address.family) ? text.slice(0, text.indexOf('/')) : text;
}

/** True for the tables that a host has without a rule of a user. */
export const isUsualTable = (table: number): boolean => table in tableNames;

/** Returns "ip rule", or "ip -6 rule". */
export const ipCommand = (family: Family, object: 'rule' | 'route'): string => `ip ${family === 6 ? '-6 ' : ''}${object}`;
