import { defined } from '../../../lang/defined.ts';
import { parsePrefixLeniently } from '../../../net/prefix.ts';
import { labels } from '../../annotations.ts';
import { limits } from '../../limits.ts';
import type { Namespace, Secret, ServiceCIDR } from '../../objects/cluster.ts';
import type { FieldReader } from '../../reading/fields.ts';
import { readMetadata } from '../../reading/metadata.ts';
import type { ParseOptions, ReadResult } from '../../reading/result.ts';

/** Reads a core/v1 Namespace and adds the label that the API server always sets. */
export function readNamespaceObject(fields: FieldReader, options: ParseOptions): ReadResult<Namespace> {
  const metadata = readMetadata(fields, 'Namespace', 'cluster', options);
  if (metadata === undefined) return {};
  return {
    object: { kind: 'Namespace', metadata: { ...metadata, labels: { ...metadata.labels, [labels.namespaceName]: metadata.name } } },
  };
}

/** Reads a networking.k8s.io/v1 ServiceCIDR. */
export function readServiceCIDR(fields: FieldReader, options: ParseOptions): ReadResult<ServiceCIDR> {
  const metadata = readMetadata(fields, 'ServiceCIDR', 'cluster', options);
  const cidrs = fields.object('spec').parsedList('cidrs', limits.cidrs, parsePrefixLeniently);
  return metadata === undefined ? {} : { object: { kind: 'ServiceCIDR', metadata, cidrs } };
}

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
      return data.problem('password', 'is not UTF-8 text', 'use a password that is text');
    }
  }
  return data.problem('password', 'is not base64', 'encode it, or write it plainly under stringData');
}
