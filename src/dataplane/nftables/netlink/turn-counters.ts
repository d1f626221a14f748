import { defined } from '../../../lang/defined.ts';
import type { Family } from '../../../net/address.ts';
import type { Clock } from '../../../system/clock.ts';
import { listAttributes, readAttributes, readText } from '../../../system/netlink/attributes.ts';
import { NetlinkError } from '../../../system/netlink/error.ts';
import { netfilterProtocol } from '../../../system/netlink/socket.ts';
import { requiredNetlink } from '../../required-netlink.ts';
import { tableName } from '../../ruleset/layout.ts';
import { sharedChainName } from '../../ruleset/turns.ts';
import { expressionAttributes, messages, ruleAttributes } from './constants.ts';
import { NfTablesConnection } from './nf-tables-connection.ts';

/** A chain of turns that the frontends of a Service port share, by its number (turns.ts). */
export interface SharedTurns {
  readonly family: Family;
  readonly shared: number;
}

/** Returns for each chain how many turns were taken since it exists. Undefined: there is no such chain. Rejects as `connectionTally` does. */
export type ReadTurnsTaken = (chains: readonly SharedTurns[]) => Promise<readonly (number | undefined)[]>;

/** Reads the counters in the rules of the chains. */
export function turnsTaken(clock: Clock, networkNamespace?: string): ReadTurnsTaken {
  return async (chains) => {
    const socket = requiredNetlink({ protocol: netfilterProtocol, ...defined({ networkNamespace }) });
    try {
      const connection = new NfTablesConnection(socket, clock);
      const taken: (number | undefined)[] = [];
      for (const { family, shared } of chains) taken.push(await readCounter(connection, family, sharedChainName(family, shared)));
      return taken;
    } finally {
      socket.close();
    }
  };
}

/** NFTA_COUNTER_PACKETS. */
const counterPackets = 2;

async function readCounter(connection: NfTablesConnection, family: Family, chain: string): Promise<number | undefined> {
  const rules = await listRules(connection, family, chain);
  for (const rule of rules.map(readAttributes)) {
    const name = rule.get(ruleAttributes.chain);
    if (name === undefined || readText(name) !== chain) continue;
    for (const { value } of listAttributes(rule.get(ruleAttributes.expressions) ?? new Uint8Array())) {
      const expression = readAttributes(value);
      const [kind, data] = [expressionAttributes.name, expressionAttributes.data].map((type) => expression.get(type));
      const packets =
        kind !== undefined && readText(kind) === 'counter' ? readAttributes(data ?? new Uint8Array()).get(counterPackets) : undefined;
      if (packets?.length === 8) return Number(new DataView(packets.buffer, packets.byteOffset, 8).getBigUint64(0));
    }
  }
  return undefined;
}

async function listRules(connection: NfTablesConnection, family: Family, chain: string): Promise<readonly Uint8Array[]> {
  try {
    return await connection.list(messages.getRule, family, [
      [ruleAttributes.table, tableName],
      [ruleAttributes.chain, chain],
    ]);
  } catch (error) {
    if (error instanceof NetlinkError && error.code === 'ENOENT') return [];
    throw error;
  }
}
