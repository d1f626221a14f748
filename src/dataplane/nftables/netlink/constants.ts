/** The numbers of linux/netfilter/nf_tables.h that Herald uses, under the kernel's names without their prefixes. */

const nftables = 10;
const type = (message: number): number => (nftables << 8) | message;

/** Message types. */
export const messages = {
  batchBegin: 0x10,
  batchEnd: 0x11,
  newTable: type(0),
  getTable: type(1),
  delTable: type(2),
  newChain: type(3),
  getChain: type(4),
  delChain: type(5),
  newRule: type(6),
  getRule: type(7),
  delRule: type(8),
  newSet: type(9),
  getSet: type(10),
  delSet: type(11),
  newElement: type(12),
  getElement: type(13),
  delElement: type(14),
  newGeneration: type(15),
  getGeneration: type(16),
} as const;

/** `res_id` of the messages that begin and end a batch. */
export const subsystem = nftables;

/** NFNLGRP_NFTABLES: events of every change. */
export const changesGroup = 7;

/** NFPROTO_... */
export const protocolFamily = { ip: 2, ip6: 10 } as const;
export const netdevFamily = 5;

/** Every nf_tables object has the name of its table in this attribute; a table has its own name there. */
export const tableAttribute = 1;
export const tableAttributes = { name: 1, flags: 2 } as const;
export const tableFlags = { owner: 2, persist: 4 } as const;
export const chainAttributes = { table: 1, name: 3, hook: 4, policy: 5, type: 7 } as const;
/** NF_ACCEPT: the verdict for packets that no rule of a chain decides. */
export const acceptPolicy = 1;
export const hookAttributes = { number: 1, priority: 2 } as const;
export const ruleAttributes = { table: 1, chain: 2, expressions: 4 } as const;
export const setAttributes = {
  table: 1,
  name: 2,
  flags: 3,
  keyType: 4,
  keyLength: 5,
  dataType: 6,
  dataLength: 7,
  description: 9,
  id: 10,
  timeout: 11,
  userData: 13,
  /** Linux 6.16 and later. */
  count: 20,
} as const;
export const setFlags = { anonymous: 1, constant: 2, interval: 4, map: 8, timeout: 0x10, dynamic: 0x20, concatenation: 0x80 } as const;
export const descriptionAttributes = { size: 1, fields: 2 } as const;
export const fieldAttributes = { length: 1 } as const;
export const listElement = 1;
export const elementListAttributes = { table: 1, set: 2, elements: 3, setId: 4 } as const;
export const elementAttributes = { key: 1, data: 2, flags: 3, keyEnd: 10 } as const;
export const elementFlags = { intervalEnd: 1 } as const;
export const dataAttributes = { value: 1, verdict: 2 } as const;
/** NFNL_BATCH_GENID. */
export const batchAttributes = { generation: 1 } as const;
export const generationAttributes = { number: 1 } as const;
export const verdictAttributes = { code: 1, chain: 2 } as const;
export const expressionAttributes = { name: 1, data: 2 } as const;

/** The data type of a map whose values are verdicts. */
export const verdictType = 0xffff_ff00;

/** The types that nft uses to print keys and values. The kernel stores them and does not interpret them. */
export const dataTypes = {
  integer: { number: 4, length: 4 },
  ipv4_addr: { number: 7, length: 4 },
  ether_addr: { number: 9, length: 6 },
  ipv6_addr: { number: 8, length: 16 },
  inet_proto: { number: 12, length: 1 },
  inet_service: { number: 13, length: 2 },
  mark: { number: 19, length: 4 },
  iface_index: { number: 20, length: 4 },
  classid: { number: 23, length: 4 },
} as const;
/**
 * Userdata of a set, which the kernel stores for nft: a type (keys 0, values 1), a length, and the byte order in nft's numbering, here that
 * of the machine.
 */
export const hostOrder = { keys: Uint8Array.of(0, 4, 1, 0, 0, 0), values: Uint8Array.of(1, 4, 1, 0, 0, 0) } as const;

export type DataType = keyof typeof dataTypes;
