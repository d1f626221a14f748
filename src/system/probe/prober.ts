import { systemClock, type Clock } from '../clock.ts';
import { loadLibc } from '../ffi/libc.ts';
import { measureSize, type PacketResult } from './echo.ts';
import { findHops, type Hop } from './hops.ts';
import { connectByKernel, type KernelProbe } from './kernel-connect.ts';
import type { ProbeResult } from './result.ts';
import { connectTcp } from './tcp.ts';
import { sendUdp } from './udp.ts';

/** An address in both forms, because Node takes text and system calls take octets. */
export interface ProbeAddress {
  readonly text: string;
  readonly octets: Uint8Array;
}

/** Attempts to reach addresses from this host. All reject only when their signal aborts. */
export interface Prober {
  tcp(to: ProbeAddress, port: number, timeout: number, signal: AbortSignal): Promise<ProbeResult>;
  udp(to: ProbeAddress, port: number, timeout: number, signal: AbortSignal): Promise<ProbeResult>;
  /** These need system calls. Absent: this machine has no FFI. */
  readonly kernel?: KernelProber;
}

export interface KernelProber {
  connect(protocol: 'TCP' | 'SCTP', to: ProbeAddress, port: number, timeout: number, signal: AbortSignal): Promise<KernelProbe>;
  hops(to: ProbeAddress, port: number, bounds: Parameters<typeof findHops>[2], signal: AbortSignal): Promise<readonly Hop[]>;
  size(to: ProbeAddress, size: number, bounds: Parameters<typeof measureSize>[2], signal: AbortSignal): Promise<PacketResult>;
}

export function systemProber(clock: Clock = systemClock): Prober {
  const libc = loadLibc();
  return {
    tcp: ({ text }, port, timeout, signal) => connectTcp(text, port, timeout, { clock, signal }),
    udp: ({ text }, port, timeout, signal) => sendUdp(text, port, timeout, { clock, signal }),
    ...(libc === undefined
      ? {}
      : {
          kernel: {
            connect: (protocol, { octets: address }, port, timeout, signal) =>
              connectByKernel({ protocol, address, port }, timeout, { libc, clock, signal }),
            hops: ({ octets }, port, bounds, signal) => findHops(octets, port, bounds, { libc, clock, signal }),
            size: ({ octets }, size, bounds, signal) => measureSize(octets, size, bounds, { libc, clock, signal }),
          },
        }),
  };
}
