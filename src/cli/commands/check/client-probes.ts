import type { NodeProbe, NodeUnprobed } from '../../../live/contract.ts';
import type { Service } from '../../../model/objects/service.ts';
import { formatAddress } from '../../../net/address.ts';
import type { Protocol } from '../../../net/frontend.ts';
import { connectTcp } from '../../../system/probe/tcp.ts';
import { sendUdp } from '../../../system/probe/udp.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { limits } from '../../limits.ts';
import { atMost } from '../../live/pod-clients.ts';

/** Addresses and host names of a Service for clients outside, as text. */
export function externalHosts({ ingress, externalIPs }: Service): readonly string[] {
  const recorded = ingress.flatMap(({ address, hostname }) => (address === undefined ? (hostname ?? []) : formatAddress(address)));
  return [...new Set([...recorded, ...externalIPs.map(formatAddress)])];
}

/** "198.51.100.10:80", as probes name their targets. */
export const endOf = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Opens a connection from here to each address and port of a Service. */
export async function probeAsClient(service: Service, { clock, stopped }: CommandContext): Promise<readonly (NodeProbe | NodeUnprobed)[]> {
  const targets = externalHosts(service).flatMap((host) => service.ports.map(({ protocol, port }) => ({ host, protocol, port })));
  const more = targets.length - limits.checkClientProbes;
  const found = await atMost(targets.slice(0, limits.checkClientProbes), limits.liveAtOnce, ({ host, protocol, port }) =>
    probe(host, protocol, port, { clock, signal: stopped }),
  );
  if (more <= 0) return found;
  return [...found, { type: 'unprobed', what: `${more} more`, why: `the client tries at most ${limits.checkClientProbes}` }];
}

async function probe(
  host: string,
  protocol: Protocol,
  port: number,
  context: NonNullable<Parameters<typeof connectTcp>[3]>,
): Promise<NodeProbe | NodeUnprobed> {
  const to = endOf(host, port);
  const what = `${to}/${protocol}`;
  if (protocol === 'SCTP') return { type: 'unprobed', what, why: 'the command itself does not speak SCTP' };
  const outcome = await (protocol === 'TCP' ? connectTcp : sendUdp)(host, port, limits.checkProbeMilliseconds, context);
  const { milliseconds } = outcome;
  if (outcome.result === 'notSent') return { type: 'unprobed', what, why: `this host sent no packet (${outcome.error})` };
  const error = outcome.result === 'unreachable' ? { error: outcome.error } : {};
  return { type: 'probe', what: 'address', protocol, to, result: outcome.result, milliseconds, ...error };
}
