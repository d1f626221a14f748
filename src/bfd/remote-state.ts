import type { ControlPacket } from './wire/control-packet.ts';
import type { SessionState } from './wire/codes.ts';

/** Values of the latest packet of the peer: the bfd.Remote variables of RFC 5880 6.8.1, and those needed for the detection time. */
export class RemoteState {
  /** 0: unknown. */
  discriminator = 0;
  state: SessionState = 'Down';
  diagnostic = 0;
  demand = false;
  controlPlaneIndependent = false;
  /** 0: no packet has arrived. */
  detectMultiplier = 0;
  desiredMinTx = 0;
  /** One microsecond until a packet arrives, so that it does not slow transmission (RFC 5880 6.8.1). */
  minRx = 1;

  update(packet: ControlPacket): void {
    this.discriminator = packet.myDiscriminator;
    this.state = packet.state;
    this.diagnostic = packet.diagnostic;
    this.demand = packet.demand;
    this.controlPlaneIndependent = packet.controlPlaneIndependent;
    this.detectMultiplier = packet.detectMultiplier;
    this.desiredMinTx = packet.desiredMinTxInterval;
    this.minRx = packet.requiredMinRxInterval;
  }

  /** Resets the values of a silent peer, because it may return with another discriminator. Its diagnostic stays for the status. */
  reset(): void {
    this.discriminator = 0;
    this.state = 'Down';
    this.demand = false;
    this.detectMultiplier = 0;
    this.desiredMinTx = 0;
    this.minRx = 1;
  }
}
