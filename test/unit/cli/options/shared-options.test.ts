import { Command, InvalidArgumentError } from 'commander';
import { expect, test } from 'vitest';
import { bgpListenOption } from '../../../../src/cli/options/agent-options.ts';
import { addCallerOptions, addClusterOptions } from '../../../../src/cli/options/shared-options.ts';
import { address } from '../../../../src/net/address.ts';

const read = (text: string): unknown => bgpListenOption().parseArg?.(text, undefined);

test.each([
  ['none', []],
  ['1179', [{ port: 1179 }]],
  ['192.0.2.1:179', [{ address: address('192.0.2.1'), port: 179 }]],
  ['[2001:db8::1]:65535', [{ address: address('2001:db8::1'), port: 65_535 }]],
])('--bgp-listen %s is accepted', (text, expected) => {
  expect(read(text)).toEqual(expected);
});

test.each(['', '0', '65536', '192.0.2.1', '192.0.2.1:', '192.0.2.300:179', '2001:db8::1:179', '[]:179', ':179', 'any:179', '179x'])(
  '--bgp-listen %j is refused',
  (text) => {
    expect(() => read(text)).toThrow(InvalidArgumentError);
  },
);

test.each([
  ['https://192.0.2.10:6443', 'https://192.0.2.10:6443/'],
  ['https://[2001:db8::10]:6443', 'https://[2001:db8::10]:6443/'],
  ['https://api.example.net', 'https://api.example.net/'],
  ['http://127.0.0.1:8001', 'http://127.0.0.1:8001/'],
])('--apiserver %s is accepted', (text, expected) => {
  const command = addClusterOptions(new Command()).exitOverride().parse(['--apiserver', text], { from: 'user' });
  expect((command.opts()['apiserver'] as URL).href).toBe(expected);
});

test.each(['192.0.2.10', '192.0.2.10:6443', 'ftp://192.0.2.10', 'https://', 'https://user:word@192.0.2.10', 'https://192.0.2.10?x=y'])(
  '--apiserver %j is refused',
  (text) => {
    const silent = { writeErr: () => undefined };
    const command = addClusterOptions(new Command()).exitOverride().configureOutput(silent);
    expect(() => command.parse(['--apiserver', text], { from: 'user' })).toThrow('https://192.0.2.10:6443');
  },
);

test("--kubeconfig names its default: the pod's cluster for a process, kubectl's for a user", () => {
  const help = (command: Command): string => command.helpInformation().replaceAll(/\s+/g, ' ');
  expect(help(addClusterOptions(new Command()))).toContain('(default: the cluster of this pod)');
  expect(help(addCallerOptions(new Command()))).toContain('(default: as kubectl finds it: $KUBECONFIG, ~/.kube/config, else the pod)');
});
