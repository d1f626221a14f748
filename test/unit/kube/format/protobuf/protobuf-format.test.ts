import { describe, expect, test } from 'vitest';
import { namespace } from '../../../../../src/kube/format/protobuf/kinds/namespace.ts';
import { service, serviceWithRecord } from '../../../../../src/kube/format/protobuf/kinds/service.ts';
import { protobufFormat } from '../../../../../src/kube/format/protobuf/protobuf-format.ts';
import { encodedObject, encodedStatus, enclosed, field, frame, framed } from './encode.ts';

const services = protobufFormat(service);
const eventsIn = (...frames: readonly Buffer[]) => [...services.eventReader().push(Buffer.concat(frames))];
const metadata = { name: 'web', namespace: 'default', resourceVersion: '199' };

test('a Service with its record has the times and generations of its conditions', () => {
  const condition = { type: 'herald.dev/Announced', status: 'True', observedGeneration: 3, reason: 'Announced', message: 'by 2 nodes' };
  const conditions = [{ ...condition, lastTransitionTime: '2026-11-29T04:00:00Z' }];
  const frames = frame('ADDED', encodedObject(serviceWithRecord, { metadata, status: { loadBalancer: {}, conditions } }));
  const [event] = [...protobufFormat(serviceWithRecord).eventReader().push(frames)];
  expect(event).toMatchObject({ object: { metadata, status: { conditions } } });
});

describe('an event', () => {
  test('of each type is read', () => {
    const object = encodedObject(service, { metadata, spec: { type: 'ClusterIP' } });
    const end = { resourceVersion: '7', annotations: { 'k8s.io/initial-events-end': 'true' } };
    expect(
      eventsIn(
        frame('ADDED', object),
        frame('MODIFIED', object),
        frame('DELETED', object),
        frame('BOOKMARK', encodedObject(service, { metadata: { resourceVersion: '6' } })),
        frame('BOOKMARK', encodedObject(service, { metadata: end })),
      ),
    ).toEqual([
      { type: 'present', object: { metadata, spec: { type: 'ClusterIP' } } },
      { type: 'present', object: { metadata, spec: { type: 'ClusterIP' } } },
      { type: 'gone', object: { metadata, spec: { type: 'ClusterIP' } } },
      { type: 'bookmark', resourceVersion: '6', complete: false },
      { type: 'bookmark', resourceVersion: '7', complete: true },
    ]);
  });

  test('ERROR throws the error of its Status', () => {
    expect(() => eventsIn(frame('ERROR', encodedStatus(410, 'too old resource version: 1 (2)', 'Expired')))).toThrow(
      expect.objectContaining({ code: 'gone', status: 410, message: expect.stringContaining('too old resource version') }),
    );
  });

  test('that follows a readable one is refused alone', () => {
    const events = services
      .eventReader()
      .push(Buffer.concat([frame('ADDED', encodedObject(service, { metadata })), framed(Buffer.from('x'))]));
    const [first] = events;
    expect(first).toMatchObject({ type: 'present' });
  });

  test.each<[string, Buffer, string]>([
    ['of another kind', frame('ADDED', encodedObject(namespace, { metadata })), 'is a "Namespace" and not a Service'],
    ['of no known type', frame('SURPRISE', encodedObject(service, { metadata })), 'no event'],
    ['without an object', framed(field(1, 'ADDED')), 'k8s'],
    ['without a type', framed(field(2, field(1, encodedObject(service, { metadata })))), 'no event'],
    ['with an object without a name', frame('ADDED', encodedObject(service, { metadata: { resourceVersion: '1' } })), 'without name'],
    ['with an object without metadata', frame('ADDED', enclosed('Service', Buffer.alloc(0))), 'without name'],
    ['with a bookmark without a version', frame('BOOKMARK', encodedObject(service, { metadata: {} })), 'no resourceVersion'],
    ['with an error that is no Status', frame('ERROR', encodedObject(service, { metadata })), 'an error is no Status'],
    ['with the magic number of another version', frame('ADDED', Buffer.from('k8s\x01')), 'does not begin with'],
    [
      'whose message is encoded',
      frame('ADDED', Buffer.concat([Buffer.from('k8s\0'), field(1, field(2, 'Service')), field(3, 'gzip')])),
      'gzip',
    ],
  ])('%s is malformed', (_, octets, problem) => {
    expect(() => eventsIn(octets)).toThrow(expect.objectContaining({ code: 'malformed', message: expect.stringContaining(problem) }));
  });
});

describe('a list', () => {
  const page = (...parts: readonly Buffer[]): Buffer => enclosed('ServiceList', Buffer.concat(parts));
  const position = field(1, Buffer.concat([field(1, ''), field(2, '7'), field(3, '')]));

  test('without items is empty, and the last page', () => {
    const { items, ...rest } = services.list(page(position));
    expect([...items]).toEqual([]);
    expect(rest).toEqual({ resourceVersion: '7' });
  });

  test('is decoded object by object', () => {
    const { items } = services.list(page(position, field(2, field(1, Buffer.concat([field(1, 'a'), field(6, '1')]))), field(2, 'x')));
    const [first] = items;
    expect(first).toEqual({ metadata: { name: 'a', resourceVersion: '1' } });
    expect(() => [...services.list(page(position, field(2, 'x'))).items]).toThrow('ends too early');
  });

  test.each<[string, Buffer, string]>([
    ['of another kind', enclosed('NamespaceList', position), 'is a "NamespaceList" and not a ServiceList'],
    ['without a version', page(field(2, '')), 'not a list'],
    ['that is empty', Buffer.alloc(0), 'does not begin with'],
    ['that is JSON', Buffer.from('{"kind":"ServiceList"}'), 'does not begin with'],
  ])('%s is malformed', (_, octets, problem) => {
    expect(() => services.list(octets)).toThrow(expect.objectContaining({ code: 'malformed', message: expect.stringContaining(problem) }));
  });
});
