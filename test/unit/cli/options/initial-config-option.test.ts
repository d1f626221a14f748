import { Command } from 'commander';
import { expect, test } from 'vitest';
import { initialConfigOption } from '../../../../src/cli/options/initial-config-option.ts';

function read(text: string): unknown {
  const command = new Command()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .addOption(initialConfigOption());
  return command.parse(['--initial-config', text], { from: 'user' }).opts()['initialConfig'];
}

const config = { apiVersion: 'herald.dev/v1alpha1', kind: 'HeraldConfig', metadata: { name: 'default' }, spec: { services: 'external' } };

test('--initial-config accepts a manifest of HeraldConfig', () => {
  const labelled = {
    ...config,
    metadata: { name: 'default', labels: { 'app.kubernetes.io/managed-by': 'Helm' }, annotations: { a: 'b' } },
  };
  expect(read(JSON.stringify(labelled))).toEqual(labelled);
});

test.each([
  ['services: external', /not JSON\. Write \{"apiVersion"/],
  [JSON.stringify({ ...config, spec: { services: 'some' } }), /HeraldConfig: spec\.services .*all/],
  [JSON.stringify({ ...config, spec: { servics: 'all' } }), /HeraldConfig: spec\.servics .*did you mean services/],
  [JSON.stringify({ ...config, metadata: { name: 'other' } }), /only HeraldConfig\/default is read.*metadata\.name: default/],
  [JSON.stringify({ ...config, kind: 'BGPPeer', spec: { myASN: 1, peerASN: 2, peerAddress: '192.0.2.1' } }), /not a HeraldConfig/],
  [JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'default' } }), /not a HeraldConfig/],
  ['[]', /is not an object/],
])('--initial-config %s is refused', (text, message) => {
  expect(() => read(text)).toThrow(message);
});
