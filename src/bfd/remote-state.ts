import type { ControlPacket } from './wire/control-packet.ts';
import type { SessionState } from './wire/codes.ts';

/** What the peer has said in its latest packet: the bfd.Remote... variables of RFC 5880 6.8.1, and what the detection time needs. */
export class RemoteState {
  /** 0: not known. */
  discriminator = 0;
  state: SessionState = 'Down';
  diagnostic = 0;
  demand = false;
  controlPlaneIndependent = false;
  /** 0: nothing was heard. */
  detectMultiplier = 0;
  desiredMinTx = 0;
  /** One microsecond until it is heard, so that it slows nothing down (RFC 5880 6.8.1). */
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

  /** The peer is silent: it may come back as another, and its diagnostic is kept for those who ask why. */
  reset(): void {
    this.discriminator = 0;
    this.state = 'Down';
    this.demand = false;
    this.detectMultiplier = 0;
    this.desiredMinTx = 0;
    this.minRx = 1;
  }
}
