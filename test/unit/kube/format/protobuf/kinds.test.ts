import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRecord } from '../../../../../src/lang/is-record.ts';
import { KubeError } from '../../../../../src/kube/error.ts';
import { agentPod } from '../../../../../src/kube/format/protobuf/kinds/agent-pod.ts';
import { endpointSlice, endpointSliceOfAgent } from '../../../../../src/kube/format/protobuf/kinds/endpoint-slice.ts';
import { namespace } from '../../../../../src/kube/format/protobuf/kinds/namespace.ts';
import { node } from '../../../../../src/kube/format/protobuf/kinds/node.ts';
import { service } from '../../../../../src/kube/format/protobuf/kinds/service.ts';
import { Message, type FieldType } from '../../../../../src/kube/format/protobuf/message.ts';
import type { ObjectTable } from '../../../../../src/kube/format/protobuf/object-table.ts';
import { protobufFormat } from '../../../../../src/kube/format/protobuf/protobuf-format.ts';
import { bool, int32, int64, intOrString, textMap, time } from '../../../../../src/kube/format/protobuf/types.ts';
import { WireReader } from '../../../../../src/kube/format/protobuf/wire-reader.ts';
import { readAgentPod } from '../../../../../src/model/parse/kubernetes/agent-pod.ts';
import { parseObject, type ParseOptions } from '../../../../../src/model/parse.ts';
import { agentPodObject, endpointSlices, namespaceObject, nodeObject, services } from './built-in-objects.ts';
import { encodedList, encodedObject, encodedStatus, encodeMessage, frame } from './encode.ts';
import { pathsOf, projected } from './projection.ts';
import { runs } from '../../../../support/property.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Kind {
  readonly table: ObjectTable;
  /** Objects that have, together, every field that is read. */
  readonly objects: readonly Fields[];
  readonly read: (raw: unknown) => unknown;
}

const reading =
  (options: ParseOptions = {}) =>
  (raw: unknown): unknown =>
    parseObject(raw, { unknownFields: 'warned of', ...options });

const kinds: Readonly<Record<string, Kind>> = {
  service: { table: service, objects: services, read: reading() },
  'service of an agent': { table: service, objects: services, read: reading({ forAgent: true }) },
  'endpoint slice': { table: endpointSlice, objects: endpointSlices, read: reading() },
  'endpoint slice of an agent': { table: endpointSliceOfAgent, objects: endpointSlices, read: reading({ forAgent: true }) },
  node: { table: node, objects: [nodeObject], read: reading() },
  namespace: { table: namespace, objects: [namespaceObject], read: reading() },
  "agent's Pod": { table: agentPod, objects: [agentPodObject], read: readAgentPod },
};
const tables = [...new Map(Object.values(kinds).map(({ table }) => [table, table.kind]))];

/** Fields that are only noted as known, so that they are no mistake in a file. */
const onlyNoted = new Set([
  'apiVersion',
  'kind',
  'status.loadBalancer.ingress.ports',
  ...['managedFields', 'ownerReferences', 'selfLink', 'generateName', 'deletionGracePeriodSeconds'].map((name) => `metadata.${name}`),
]);

/** Returns the object so that every look at one of its fields is noted: "spec.ports.name". */
function watched(value: unknown, at: string, seen: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((one) => watched(one, at, seen));
  if (!isRecord(value)) return value;
  const inner = Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, watched(one, at === '' ? name : `${at}.${name}`, seen)]),
  );
  const note = (name: string | symbol): void => void seen.add(at === '' ? String(name) : `${at}.${String(name)}`);
  return new Proxy(inner, {
    get: (target, name) => (note(name), Reflect.get(target, name) as unknown),
    getOwnPropertyDescriptor: (target, name) => (note(name), Reflect.getOwnPropertyDescriptor(target, name)),
  });
}

describe.each(Object.entries(kinds))('the table of a %s', (_, { table, objects, read }) => {
  test('has every field that is read of the kind, and no other', () => {
    const seen = new Set<string>();
    const generated = { generation: 1, uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-02T03:04:05Z' };
    for (const one of objects) read(watched({ ...one, metadata: { ...(one['metadata'] as object), ...generated } }, '', seen));
    const inMaps = /^(metadata\.(labels|annotations)|spec\.selector)\./;
    const asked = [...seen].filter((path) => !inMaps.test(path) && !onlyNoted.has(path));
    const paths = pathsOf(table.message);
    expect(asked.filter((path) => !paths.includes(path))).toEqual([]);
    // All kinds have the same metadata, which bookmarks have too.
    expect(paths.filter((path) => !path.startsWith('metadata.') && !seen.has(path))).toEqual([]);
  });

  test('leads to the same result as the whole object', () => {
    for (const one of objects) {
      const kept = table.message.decode(new WireReader(encodeMessage(table.message, one)));
      const { apiVersion, kind } = one;
      expect(read({ ...kept, apiVersion, kind })).toStrictEqual(read(one));
    }
  });
});

/** Random objects with the fields of a table. */
function objectsOf(message: Message): fc.Arbitrary<Fields> {
  const fields = Object.entries(message.fields).map(([name, [, type]]) => [name, valuesOf(type)] as const);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [], noNullPrototype: true });
}

const texts = fc.string({ unit: 'binary', maxLength: 60 });
const keys = fc.stringMatching(/^[a-z./-]{1,20}$/);

function valuesOf(type: FieldType): fc.Arbitrary<unknown> {
  if (type instanceof Message) return objectsOf(type);
  if ('element' in type) return fc.array(valuesOf(type.element as FieldType), { minLength: 1, maxLength: 5 });
  if (type === textMap) return fc.dictionary(keys, texts, { minKeys: 1, maxKeys: 4, noNullPrototype: true });
  if (type === intOrString) return fc.oneof(fc.integer(), texts);
  if (type === time) {
    const [min, max] = [new Date('0001-01-01T00:00:00Z'), new Date('9999-12-31T23:59:59Z')];
    return fc.date({ min, max, noInvalidDate: true }).map((date) => date.toISOString().replace(/\.\d+/, ''));
  }
  if (type === bool) return fc.boolean();
  if (type === int32) return fc.integer();
  if (type === int64) return fc.maxSafeInteger();
  // A type that JSON leaves out when it is empty: anything else.
  if (type.wireType === 0) return fc.integer({ min: 1 });
  return texts.filter((text) => text !== '');
}

describe.each(tables)('random objects of table %#', (table) => {
  test('are decoded to what was encoded', () => {
    fc.assert(
      fc.property(objectsOf(table.message), (object) => {
        const found = table.message.decode(new WireReader(encodeMessage(table.message, object)));
        expect(found).toStrictEqual(projected(table.message, object));
      }),
    );
  });

  test('are decoded or refused as malformed, whatever happens to their octets', () => {
    const format = protobufFormat(table);
    const object = { ...namespaceObject, metadata: { name: 'a', namespace: 'b', resourceVersion: '1', uid: 'u' } };
    const change = fc.oneof(
      fc.record({ at: fc.nat(), octet: fc.nat(255) }),
      fc.record({ at: fc.nat(), remove: fc.nat(9) }),
      fc.record({ at: fc.nat(), add: fc.uint8Array({ maxLength: 9 }) }),
    );
    const malformed: string[] = [];
    fc.assert(
      fc.property(objectsOf(table.message), fc.array(change, { minLength: 1, maxLength: 3 }), (content, changes) => {
        const whole = { ...content, metadata: { ...(content['metadata'] as object), ...object.metadata } };
        const page = encodedList(table, { resourceVersion: '7', continue: 'token', items: [whole, whole] });
        const events = Buffer.concat([
          frame('ADDED', encodedObject(table, whole)),
          frame('BOOKMARK', encodedObject(table, { metadata: { resourceVersion: '8' } })),
          frame('ERROR', encodedStatus(410, 'too old')),
        ]);
        for (const attempt of [
          () => void [...format.list(broken(page, changes)).items],
          () => void [...format.eventReader().push(broken(events, changes))],
        ]) {
          try {
            attempt();
          } catch (error) {
            expect(error).toBeInstanceOf(KubeError);
            malformed.push((error as KubeError).code);
          }
        }
      }),
      { numRuns: runs(500) },
    );
    expect(malformed.filter((code) => code === 'malformed').length).toBeGreaterThan(runs(50));
  });
});

interface Change {
  readonly at: number;
  readonly octet?: number;
  readonly remove?: number;
  readonly add?: Uint8Array;
}

function broken(octets: Buffer, changes: readonly Change[]): Buffer {
  let result = Buffer.from(octets);
  for (const { at, octet, remove = 0, add = new Uint8Array() } of changes) {
    const place = at % result.length;
    if (octet === undefined) result = Buffer.concat([result.subarray(0, place), add, result.subarray(place + remove)]);
    else result[place] = octet;
    if (result.length === 0) return result;
  }
  return result;
}
