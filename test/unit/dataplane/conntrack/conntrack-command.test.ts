import { expect, test } from 'vitest';
import { conntrackCommand } from '../../../support/commands/conntrack-command.ts';
import type { Flow } from '../../../../src/dataplane/conntrack/conntrack-cleaner.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';

/** A shell that runs the script instead of `conntrack`; its arguments are those of `conntrack`. */
const scripted = (script: string) => conntrackCommand(['sh', '-c', script]);
const stale = { protocol: 'UDP', destination: address('192.0.2.1'), port: 53, replySource: address('10.1.0.1') } as const;

test('the deleted flows are counted over all descriptions, and no flow is success', async () => {
  const conntrack = scripted(`case "$*" in
    *192.0.2.1*) echo 'conntrack v1.4.8 (conntrack-tools): 3 flow entries have been deleted.' >&2 ;;
    *) echo 'conntrack v1.4.8 (conntrack-tools): 0 flow entries have been deleted.' >&2; exit 1 ;;
  esac`);
  expect(await conntrack.delete([stale, { ...stale, destination: address('192.0.2.2') }, stale])).toBe(6);
});

test.each([
  ['permission', 'conntrack v1.4.8 (conntrack-tools): Operation failed: Operation not permitted'],
  ['permission', 'sorry, you must be root or get CAP_NET_ADMIN capability to do this'],
  ['failed', 'conntrack v1.4.8 (conntrack-tools): Operation failed: no such table'],
])('a failure is an error with code %s', async (code, text) => {
  await expect(scripted(`echo '${text}' >&2; exit 1`).delete([stale])).rejects.toMatchObject({ code, message: text });
});

test('flows of each protocol are read, of TCP only those without a reply', async () => {
  const conntrack = scripted(`case "$*" in
    *ipv4*udp*) echo 'udp 17 29 src=10.0.0.9 dst=192.0.2.1 sport=1024 dport=53 src=10.1.0.1 dst=10.0.0.9 sport=5353 dport=1024 mark=0 use=1' ;;
    *ipv6*tcp*SYN_SENT*) echo 'tcp 6 9 SYN_SENT src=fd00::9 dst=2001:db8::1 sport=1 dport=80 [UNREPLIED] src=fd10::1 dst=fd00::9 sport=8080 dport=1' ;;
  esac`);
  const flows: Flow[] = [];
  await conntrack.each((flow) => void flows.push(flow));
  expect(flows.map(({ protocol, destination, port }) => [protocol, formatAddress(destination), port])).toEqual([
    ['UDP', '192.0.2.1', 53],
    ['TCP', '2001:db8::1', 80],
  ]);
});
