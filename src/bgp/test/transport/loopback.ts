import { networkInterfaces } from 'node:os';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { address } from '../../../../src/net/address.ts';
import type { Transport } from '../../../../src/bgp/transport/transport.ts';
import type { TransportSetup } from './compliance.ts';

export const loopback = { 4: address('127.0.0.1'), 6: address('::1') };
export const hasIpv6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some((one) => one.address === '::1'));

/** Waits until the condition holds; throws with its description shortly before the runner would end the test without one. */
export async function until(what: string, holds: () => boolean, seconds = 80): Promise<void> {
  const deadline = performance.now() + seconds * 1_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`not within ${seconds} s: ${what}`);
    await sleep(2);
  }
}

/** Returns the surroundings for the compliance tests with real sockets on this host's loopback. */
export const onLoopback = (transport: Transport, family: 4 | 6) => (): TransportSetup => ({
  dialer: transport,
  listener: transport,
  dialerAddress: loopback[family],
  listenerAddress: loopback[family],
  until,
  settle: async () => {
    for (let i = 0; i < 20; i++) await turn();
    await sleep(20);
  },
});
