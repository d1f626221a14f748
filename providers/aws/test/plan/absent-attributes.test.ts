import { expect, test } from 'vitest';
import { attributeChange } from '../../../../providers/aws/plan/steps/attributes.ts';
import { targetGroupDefaults } from '../../../../providers/aws/plan/nlb/attribute-defaults.ts';

const defaults = targetGroupDefaults('instance', 'TCP');
const written = (proxy: string): object => attributeChange([], {}, { 'proxy_protocol_v2.enabled': proxy }, defaults).write;

test('the PROXY protocol that an answer of AWS does not contain counts as off', () => {
  expect(written('false')).toEqual({});
  expect(written('true')).toEqual({ 'proxy_protocol_v2.enabled': 'true' });
});
