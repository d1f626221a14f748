import type { Community } from '../configuration.ts';
import { limits } from '../limits.ts';
import { isAlias, parseCommunityValue } from './community-value.ts';
import { readMetadata } from './metadata.ts';
import type { Fields } from './fields.ts';
import type { ParseOptions, Read } from './result.ts';

/** Aliases for communities, as MetalLB's (v1beta1). */
export function readCommunity(fields: Fields, options: ParseOptions): Read<Community> {
  const metadata = readMetadata(fields, 'Community', 'cluster', options);
  const seen = new Set<string>();
  const communities = fields
    .object('spec')
    .objects('communities', limits.aliases)
    .flatMap((item) => {
      item.require('name', 'name the alias');
      item.require('value', 'write the community, for example 65000:100');
      const name = item.text('name') ?? '';
      const value = item.parsed('value', parseCommunityValue);
      if (name !== '' && !isAlias(name))
        item.problem('name', 'is not a name', 'begin with a letter; use letters, digits, "-", "_" and "."');
      if (seen.has(name)) item.problem('name', `"${name}" is there twice`, 'remove one');
      seen.add(name);
      return value === undefined ? [] : [{ name, value }];
    });
  fields.raw('status');
  return metadata === undefined ? {} : { object: { kind: 'Community', metadata, communities } };
}
