import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { serviceKey, type ServiceKey } from '../../model/metadata.ts';
import { isRecord } from '../../model/parse/fields.ts';
import { readServiceRecord } from '../../model/parse/service-record.ts';
import type { Address } from '../../net/address.ts';
import { SourceError } from '../source.ts';
import { decodeDocuments } from './documents.ts';
import { roleOf, statusFolder } from './layout.ts';
import { readBounded } from './read-file.ts';

export interface RecordedAddresses {
  readonly addresses: ReadonlyMap<ServiceKey, readonly Address[]>;
  /** The Services of records that say nothing certain, with their files, relative to the directory. */
  readonly unreadable: ReadonlyMap<ServiceKey, string>;
}

/** The addresses on record under a directory. A record with any mistake counts as unreadable as a whole, as the source sees it. */
export async function readRecordedAddresses(root: string): Promise<RecordedAddresses> {
  const recorded = new Map<ServiceKey, readonly Address[]>();
  const unreadable = new Map<ServiceKey, string>();
  for (const namespace of await namesIn(join(root, statusFolder))) {
    for (const file of await namesIn(join(root, statusFolder, namespace))) {
      const path = `${statusFolder}/${namespace}/${file}`;
      const role = roleOf(path);
      if (role?.kind !== 'record') continue;
      const content = await readBounded(join(root, path));
      if (content.kind === 'gone') continue;
      const addresses = content.kind === 'unreadable' ? undefined : addressesIn(content.text);
      if (addresses === undefined) unreadable.set(serviceKey(role), path);
      else recorded.set(serviceKey(role), addresses);
    }
  }
  return { addresses: recorded, unreadable };
}

function addressesIn(text: string): readonly Address[] | undefined {
  const [document] = decodeDocuments(text, false);
  if (document === undefined || document.errors.length > 0 || !isRecord(document.raw)) return undefined;
  const { ingress = [], problems } = readServiceRecord(document.raw);
  return problems.length > 0 ? undefined : ingress.flatMap(({ address }) => address ?? []);
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
