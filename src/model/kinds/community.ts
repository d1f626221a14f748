import { limits } from '../limits.ts';
import { list, object, parsed } from '../schema/fields.ts';
import { communityName, communityValue } from '../schema/grammars.ts';
import { defineKind, type ObjectOfKind } from '../schema/kind.ts';
import { age, conditionColumns, conditions } from '../schema/status.ts';

const alias = object({
  name: parsed(communityName, {
    required: 'name the alias',
    description: 'The alias: a letter, then letters, digits, `-`, `_`, `.`; up to 63. Each alias must be unique.',
  }),
  value: parsed(communityValue, {
    required: 'write the community, for example 65000:100',
    description: 'The community that the alias stands for.',
  }),
});

/** The same as MetalLB's (v1beta1). */
export const community = defineKind({
  kind: 'Community',
  plural: 'communities',
  shortNames: ['hcommunity'],
  description: 'Names for BGP communities that advertisements can use.',
  spec: object({
    communities: list(alias, { key: 'name', maxItems: limits.aliases, description: 'The aliases.' }),
  }),
  status: object({ conditions }),
  columns: [
    { name: 'Aliases', type: 'string', path: '.spec.communities[*].name', description: 'The first alias.' },
    ...conditionColumns,
    age,
  ],
  example: { communities: [{ name: 'gold', value: '65000:100' }] },
  object: (spec) => spec,
});

export type Community = ObjectOfKind<typeof community>;
