import type { NlbProtocol } from '../cloud/elbv2.ts';

/** True for the protocols whose targets AWS finds by a server id in the connection id. */
export function isQuic(protocol: NlbProtocol): boolean {
  return protocol === 'QUIC' || protocol === 'TCP_QUIC';
}

/** The transport protocols that a listener or target group carries. */
export function transportsOf(protocol: NlbProtocol): readonly ('tcp' | 'udp')[] {
  return transports[protocol];
}

const transports: Readonly<Record<NlbProtocol, readonly ('tcp' | 'udp')[]>> = {
  TCP: ['tcp'],
  TLS: ['tcp'],
  UDP: ['udp'],
  QUIC: ['udp'],
  TCP_UDP: ['tcp', 'udp'],
  TCP_QUIC: ['tcp', 'udp'],
};
