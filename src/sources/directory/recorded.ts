import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { serviceKey, type ServiceKey } from '../../model/metadata.ts';
import { isRecord } from '../../model/parse/fields.ts';
import { readServiceRecord } from '../../model/parse/service-record.ts';
import type { Address } from '../../net/address.ts';
import { SourceError } from '../source.ts';
import { readIfThere } from './atomic-file.ts';
import { decodeDocuments } from './documents.ts';
import { roleOf, statusFolder } from './layout.ts';

/** The addresses on record under a directory, by Service. Records that cannot be read are left out: the source reports them. */
export async function readRecordedAddresses(root: string): Promise<ReadonlyMap<ServiceKey, readonly Address[]>> {
  const recorded = new Map<ServiceKey, readonly Address[]>();
  for (const namespace of await namesIn(join(root, statusFolder))) {
    for (const file of await namesIn(join(root, statusFolder, namespace))) {
      const path = `${statusFolder}/${namespace}/${file}`;
      const role = roleOf(path);
      const text = role?.kind === 'record' ? await readIfThere(join(root, path)) : undefined;
      const [document] = text === undefined ? [] : decodeDocuments(text, false);
      if (role?.kind !== 'record' || document === undefined || document.errors.length > 0 || !isRecord(document.raw)) continue;
      const { ingress = [] } = readServiceRecord(document.raw);
      recorded.set(
        serviceKey(role),
        ingress.flatMap(({ address }) => address ?? []),
      );
    }
  }
  return recorded;
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
