import { defined } from '../../../lang/defined.ts';
import type { Secret } from '../../objects/cluster.ts';
import { limits } from '../../limits.ts';
import { readMetadata } from '../../reading/metadata.ts';
import type { FieldReader } from '../../reading/fields.ts';
import type { ParseOptions, ReadResult } from '../../reading/result.ts';

/**
 * Reads the key `password` of a core/v1 Secret. As in the API server, stringData takes precedence over data. No message contains a value.
 */
export function readSecret(fields: FieldReader, options: ParseOptions): ReadResult<Secret> {
  const metadata = readMetadata(fields, 'Secret', 'namespaced', options);
  const type = fields.text('type') ?? 'Opaque';
  const plain = fields.object('stringData').text('password');
  const password = plain ?? readBase64(fields.object('data'));
  if (metadata === undefined) return {};
  const kept = { ...metadata, annotations: {} };
  return { object: { kind: 'Secret', metadata: kept, type, ...defined({ password }) } };
}

function readBase64(data: FieldReader): string | undefined {
  const encoded = data.text('password', limits.text)?.replaceAll(/\s/g, '');
  if (encoded === undefined) return undefined;
  if (encoded.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) {
    const bytes = Buffer.from(encoded, 'base64');
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      data.problem('password', 'is not UTF-8 text', 'use a password that is text');
      return undefined;
    }
  }
  data.problem('password', 'is not base64', 'encode it, or write it plainly under stringData');
  return undefined;
}
