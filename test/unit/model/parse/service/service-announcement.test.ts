import { describe, expect, test } from 'vitest';
import { annotationTable } from '../../../../../src/model/annotations.ts';
import { parseObject } from '../../../../../src/model/parse.ts';
import { ours, service } from '../manifests.ts';

const annotated = (annotations: Readonly<Record<string, string>>) => parseObject(service({}, { annotations }));

describe('how a Service is made known', () => {
  test('is read from its annotations', () => {
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

  test.each(['hostname', 'drain', 'advertiseClusterIP', 'advertiseExternalIPs'])('has no %s where nothing is said', (field) => {
    expect(annotated({}).object).not.toHaveProperty(field);
  });

  test.each([
    ['herald.dev/hostname', 'Web.example.com', 'write a DNS name, such as web.example.com'],
    ['herald.dev/hostname', 'https://example.com', 'write a DNS name, such as web.example.com'],
    // The API server refuses the whole status for it.
    ['herald.dev/hostname', '192.0.2.1', 'write a DNS name, such as web.example.com'],
    ['herald.dev/drain', 'yes', 'write "true" or "false"'],
    ['herald.dev/advertise-cluster-ip', '0', 'write "true" or "false"'],
    ['herald.dev/advertise-external-ips', 'True', 'write "true" or "false"'],
  ])('%s: %s leaves the Service working, without it', (name, value, fix) => {
    const { object, problems } = annotated({ [name]: value });
    expect(object).toMatchObject({ kind: 'Service', metadata: { name: 'web' } });
    expect(problems).toMatchObject([{ path: ['metadata', 'annotations', name], message: `is ${JSON.stringify(value)}`, fix }]);
    for (const field of ['hostname', 'drain', 'advertiseClusterIP', 'advertiseExternalIPs']) expect(object).not.toHaveProperty(field);
  });

  test('is decided by HeraldConfig for those that say nothing', () => {
    expect(parseObject(ours('HeraldConfig', {}, 'default')).object).toMatchObject({
      advertiseClusterIPs: true,
      advertiseExternalIPs: true,
    });
    const spec = { advertiseClusterIPs: false, advertiseExternalIPs: false };
    expect(parseObject(ours('HeraldConfig', spec, 'default')).object).toMatchObject(spec);
  });
});

describe('the table of annotations', () => {
  const entries = Object.values(annotationTable);

  test.each(entries.filter(({ on }) => on === 'Service'))('$name is known, and its example is understood', ({ name, example }) => {
    const { problems, warnings } = annotated({ [name]: example });
    expect([...problems, ...warnings]).toEqual([]);
  });

  test('what is not in it is a warning, with what was meant', () => {
    expect(annotated({ 'herald.dev/drains': 'true' }).warnings).toMatchObject([{ fix: 'did you mean herald.dev/drain?' }]);
    expect(annotated({ 'herald.dev/weight': '1' }).warnings).toMatchObject([{ message: 'is not an annotation of Herald' }]);
  });
});
