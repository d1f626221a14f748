import { isRecord } from '../../lang/is-record.ts';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Condition } from '../../model/objects/condition.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import { readServiceRecord, type ServiceRecord } from '../../model/parse/service/service-record.ts';
import { readReleased, type ReleasedAddress } from '../../model/parse/released-address.ts';
import type { Address } from '../../net/address.ts';
import { SourceError } from '../source.ts';
import { decodeDocuments } from './decode/documents.ts';
import { objectStatusFolder, roleOf, statusFolder } from './layout.ts';
import { readBounded } from './read-file.ts';

export interface RecordedAddresses {
  readonly addresses: ReadonlyMap<ServiceKey, readonly Address[]>;
  /** The UID of each record's Service, when records are parts of Services. */
  readonly uids?: ReadonlyMap<ServiceKey, string>;
  /** Services whose records cannot be trusted, with the file relative to the directory. */
  readonly unreadable: ReadonlyMap<ServiceKey, string>;
  /** Pools with a recorded status, including pools that no longer exist. */
  readonly pools?: readonly string[];
  /** Released addresses that pools keep. */
  readonly released?: readonly ReleasedAddress[];
  /** Since when each Service lacks what it asks for, RFC 3339 in UTC. */
  readonly waitingSince?: ReadonlyMap<ServiceKey, string>;
  readonly conditions?: ReadonlyMap<ServiceKey, readonly Condition[]>;
}

/** Reads the recorded addresses below a directory. A record with any mistake counts as unreadable as a whole, as in the source. */
export async function readRecordedAddresses(root: string): Promise<RecordedAddresses> {
  const recorded = new Map<ServiceKey, readonly Address[]>();
  const unreadable = new Map<ServiceKey, string>();
  const waitingSince = new Map<ServiceKey, string>();
  const conditions = new Map<ServiceKey, readonly Condition[]>();
  for (const namespace of await namesIn(join(root, statusFolder))) {
    for (const file of await namesIn(join(root, statusFolder, namespace))) {
      const path = `${statusFolder}/${namespace}/${file}`;
      const role = roleOf(path);
      if (role?.kind !== 'record') continue;
      const content = await readBounded(join(root, path));
      if (content.kind === 'gone') continue;
      const record = content.kind === 'unreadable' ? undefined : recordIn(content.text);
      const key = serviceKey(role);
      if (record?.ingress === undefined) {
        unreadable.set(key, path);
        continue;
      }
      recorded.set(
        key,
        record.ingress.flatMap(({ address }) => address ?? []),
      );
      conditions.set(key, record.conditions);
      if (record.waitingSince !== undefined) waitingSince.set(key, record.waitingSince);
    }
  }
  return { addresses: recorded, unreadable, waitingSince, conditions, ...(await readPoolRecords(root)) };
}

/** A pool with an unreadable status keeps no released addresses. No Service loses an address that it holds. */
export async function readPoolRecords(
  root: string,
): Promise<{ readonly pools: readonly string[]; readonly released: readonly ReleasedAddress[] }> {
  const folder = join(root, objectStatusFolder, 'ipaddresspool');
  const released: ReleasedAddress[] = [];
  const pools: string[] = [];
  for (const file of await namesIn(folder)) {
    const role = roleOf(`${objectStatusFolder}/ipaddresspool/${file}`);
    if (role?.kind === 'poolRecord') pools.push(role.name);
    const content = await readBounded(join(folder, file));
    const [document] = content.kind === 'text' ? decodeDocuments(content.text, false) : [];
    if (isRecord(document?.raw)) released.push(...readReleased(document.raw['status']));
  }
  return { pools, released };
}

/** Returns undefined when the record has a mistake. */
function recordIn(text: string): ServiceRecord | undefined {
  const [document] = decodeDocuments(text, false);
  if (document === undefined || document.errors.length > 0 || !isRecord(document.raw)) return undefined;
  const record = readServiceRecord(document.raw);
  return record.problems.length > 0 ? undefined : record;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw new SourceError('unreadable', `the records cannot be read: ${code}`, { cause: error });
  }
}
