import { limits } from '../limits.ts';
import { list, object, parsed } from '../schema/fields.ts';
import { cidr } from '../schema/grammars.ts';
import { defineKind, type ObjectOfKind } from '../schema/kind.ts';
import { selector } from '../schema/selector.ts';
import { age, conditionColumns, conditions } from '../schema/status.ts';

/** Both fields are required, so that a policy always states explicitly what it allows. */
export const externalIPPolicy = defineKind({
  kind: 'ExternalIPPolicy',
  plural: 'externalippolicies',
  shortNames: ['hpolicy'],
  description:
    'Which external IPs Services may have. They are neither forwarded nor announced unless a policy allows them (CVE-2020-8554).',
  spec: object(
    {
      namespaceSelector: selector({
        required: 'write {} to allow every namespace',
        description: 'Namespaces whose Services may have external IPs; `{}` allows every namespace.',
      }),
      cidrs: list(parsed(cidr), {
        required: 'list the prefixes that external IPs may come from',
        maxItems: limits.cidrs,
        unique: true,
        description: 'The prefixes that external IPs may come from.',
      }),
    },
    { required: 'write namespaceSelector and cidrs' },
  ),
  status: object({ conditions }),
  columns: [{ name: 'CIDRs', type: 'string', path: '.spec.cidrs' }, ...conditionColumns, age],
  example: { namespaceSelector: {}, cidrs: ['192.0.2.0/24'] },
  object: (spec) => spec,
});

export type ExternalIPPolicy = ObjectOfKind<typeof externalIPPolicy>;
