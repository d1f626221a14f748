import { describe, expect, test } from 'vitest';
import { annotationTable } from '../../../../../src/model/annotations.ts';
import { parseObject } from '../../../../../src/model/parse.ts';
import { ours, service } from '../manifests.ts';

const annotated = (annotations: Readonly<Record<string, string>>) => parseObject(service({}, { annotations }));

describe('announcement annotations of a Service', () => {
  test('all announcement annotations are read', () => {
    const annotations = {
      'herald.dev/hostname': 'web.example.com',
      'herald.dev/drain': 'true',
      'herald.dev/advertise-cluster-ip': 'false',
      'herald.dev/advertise-external-ips': 'true',
    };
    const { object, problems } = annotated(annotations);
    expect(problems).toEqual([]);
    expect(object).toMatchObject({ hostname: 'web.example.com', drain: true, advertiseClusterIP: false, advertiseExternalIPs: true });
  });

  test.each(['hostname', 'drain', 'advertiseClusterIP', 'advertiseExternalIPs'])('%s is absent when its annotation is not set', (field) => {
    expect(annotated({}).object).not.toHaveProperty(field);
  });

  test.each([
    ['herald.dev/hostname', 'Web.example.com', 'write a DNS name, such as web.example.com'],
    ['herald.dev/hostname', 'https://example.com', 'write a DNS name, such as web.example.com'],
    // The API server would refuse the whole status with this host name.
    ['herald.dev/hostname', '192.0.2.1', 'write a DNS name, such as web.example.com'],
    ['herald.dev/drain', 'yes', 'write "true" or "false"'],
    ['herald.dev/advertise-cluster-ip', '0', 'write "true" or "false"'],
    ['herald.dev/advertise-external-ips', 'True', 'write "true" or "false"'],
  ])('%s: %s is reported and left out, and the Service stays usable', (name, value, fix) => {
    const { object, problems } = annotated({ [name]: value });
    expect(object).toMatchObject({ kind: 'Service', metadata: { name: 'web' } });
    expect(problems).toMatchObject([{ path: ['metadata', 'annotations', name], message: `is ${JSON.stringify(value)}`, fix }]);
    for (const field of ['hostname', 'drain', 'advertiseClusterIP', 'advertiseExternalIPs']) expect(object).not.toHaveProperty(field);
  });

  test('HeraldConfig decides for Services without the annotations', () => {
    expect(parseObject(ours('HeraldConfig', {}, 'default')).object).toMatchObject({
      advertiseClusterIPs: true,
      advertiseExternalIPs: true,
    });
    const spec = { advertiseClusterIPs: false, advertiseExternalIPs: false };
    expect(parseObject(ours('HeraldConfig', spec, 'default')).object).toMatchObject(spec);
  });
});

describe('annotation table', () => {
  const entries = Object.values(annotationTable);

  test.each(entries.filter(({ on }) => on === 'Service'))('$name is known, and its example is valid', ({ name, example }) => {
    const { problems, warnings } = annotated({ [name]: example });
    expect([...problems, ...warnings]).toEqual([]);
  });

  test('an annotation outside the table gets a warning with the closest name', () => {
    expect(annotated({ 'herald.dev/drains': 'true' }).warnings).toMatchObject([{ fix: 'did you mean herald.dev/drain?' }]);
    expect(annotated({ 'herald.dev/weight': '1' }).warnings).toMatchObject([{ message: 'is not an annotation of Herald' }]);
  });
});
