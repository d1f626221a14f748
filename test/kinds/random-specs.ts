import * as fc from 'fast-check';
import type { KindDefinition } from '../../src/model/schema/kind.ts';
import type { Grammar, Schema } from '../../src/model/schema/schema.ts';
import { heraldApiVersion } from '../../src/model/kinds.ts';

/** Valid and invalid texts at the edges of each grammar, by the grammar's example. */
const edges: Readonly<Record<string, string>> = {
  '192.0.2.1':
    '10.0.0.1|127.0.0.1|0.0.0.0|169.254.0.1|224.0.0.1|240.0.0.1|255.255.255.255|192.0.2.256|192.0.2|192.0.2.01|192.0.2.1/32| 192.0.2.1|' +
    '2001:db8::1|2001:DB8::1|fe80::1|fe80::1%eth0|::|::1|ff02::1|::ffff:192.0.2.1|1::2::3',
  '192.0.2.0/24':
    '192.0.2.1/32|192.0.2.1/24|0.0.0.0/0|10.0.0.0/33|10.0.0.0/08|10.0.0.0|::/0|2001:db8::/32|2001:db8::1/64|fe80::/10|2001:db8::/129|' +
    '192.0.2.1-192.0.2.9|192.0.2.1 - 192.0.2.9|192.0.2.9-192.0.2.1|2001:db8::1-2001:db8::9|2001:db8::9-2001:db8::1|192.0.2.1-2001:db8::1|' +
    '192.0.2.1-|-192.0.2.1|1-2-3|10.0.0.0-10.0.0.255|126.0.0.0/7|127.0.0.0/8|223.255.255.255-224.0.0.1|ff00::/8|::1-::5| 192.0.2.0/24 ',
  '65000:100':
    '0:0|65535:65535|65536:1|1:65536|01:1|large:1:2:3|large:4294967295:0:0|large:4294967296:0:0|large:1:2|no-export|gold|1a|a:b|1:2:3|:',
  gold: `a|A.b-c_d|1a|a:b|-a|a b|${'x'.repeat(63)}`,
  shop: `a|a-b|A|-a|a-|a.b|1|${'x'.repeat(63)}`,
  eth1: 'bond0.100|a b|eth/0|a:b|.|..|abcdefghijklmno|é',
  'cali*': 'cni0|*|cali*x|abcdefghijklmn*|abcdefghijklmno|a b',
  'herald.dev/herald': 'a/b|a|a/b/c|a /b|/|é/b',
  '90s': '0|0s|1s|2s|3s|9s|10s|1m30s|1h|18h12m15s|65535s|65536s|21845s|21846s|1.5s|1500ms|2000ms|-1s|1|1d|s|1s |0.0s|3000000us',
};

const textsOf = (grammar: Grammar<unknown>): readonly string[] => [grammar.example, ...(edges[grammar.example] ?? '').split('|')];

/** Draws mostly valid values, so that relations between fields are reached, and values at every edge. */
function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  switch (schema.kind) {
    case 'text':
      return fc.constantFrom('', 'a', 'b', 'x'.repeat(schema.maxLength));
    case 'parsed':
      return fc.oneof(
        { weight: 2, arbitrary: fc.constant(schema.grammar.example) },
        { weight: 3, arbitrary: fc.constantFrom('', ...textsOf(schema.grammar)) },
      );
    case 'integer':
      return fc.constantFrom(...new Set([schema.min, schema.min + 1, 0, 1, 24, 23_456, 64_512, 64_513, Math.min(schema.max, 2 ** 32)]));
    case 'boolean':
      return fc.boolean();
    case 'choice':
      return fc.constantFrom(...schema.values);
    case 'list':
      return fc.array(valueOf(schema.items), { maxLength: 3 });
    case 'map':
      return fc.dictionary(fc.constantFrom('a', 'b'), valueOf(schema.values), { maxKeys: 2 });
    case 'object':
      return fc.record(Object.fromEntries(Object.entries(schema.fields).map(([name, field]) => [name, fieldOf(field)])));
    case 'any':
      return fc.constant({});
  }
}

function fieldOf(schema: Schema): fc.Arbitrary<unknown> {
  const absent = fc.constant(undefined);
  if (schema.required !== undefined) return fc.oneof({ weight: 19, arbitrary: valueOf(schema) }, { weight: 1, arbitrary: absent });
  return fc.oneof({ weight: 1, arbitrary: valueOf(schema) }, { weight: 4, arbitrary: absent });
}

/** Returns random objects of a kind, about half of them valid, in the form in which they are sent (through JSON). */
export function objectsOf(kind: KindDefinition, count: number, seed: number): readonly Record<string, unknown>[] {
  if (kind.spec === undefined) return [];
  const metadata = { name: kind.nameRule === undefined ? 'main' : 'default' };
  // A drawn field replaces that of the example, so that the rest of the object stays valid.
  const specs = fc.sample(valueOf(kind.spec) as fc.Arbitrary<object>, { numRuns: count, seed });
  return specs.map((drawn, index) => {
    const written = JSON.parse(JSON.stringify(drawn)) as object;
    const spec = index % 2 === 0 ? { ...kind.example, ...written } : written;
    return { apiVersion: heraldApiVersion, kind: kind.kind, metadata, spec };
  });
}
