import { socketFilter } from '../../../src/l2/wire/filter.ts';

/** Where the kernel keeps data about a packet (SKF_AD_OFF of linux/filter.h). */
const ancillary = 0x1_0000_0000 - 0x1000;

/** Runs the socket filter as the kernel does (bpf(4)). Returns true if it accepts the frame. */
export function accepts(frame: Uint8Array, about: { readonly packetType?: number; readonly vlan?: boolean } = {}): boolean {
  let accumulator = 0;
  for (let at = 0, steps = 0; steps < 200; at++, steps++) {
    const [code, ifTrue, ifFalse, operand] = socketFilter[at] ?? [0, 0, 0, 0];
    const jump = (holds: boolean): void => void (at += holds ? ifTrue : ifFalse);
    switch (code) {
      case 0x28:
        if (operand + 2 > frame.length) return false;
        accumulator = ((frame[operand] ?? 0) << 8) | (frame[operand + 1] ?? 0);
        break;
      case 0x30:
        if (operand === ancillary + 4) accumulator = about.packetType ?? 0;
        else if (operand === ancillary + 48) accumulator = about.vlan === true ? 1 : 0;
        else if (operand >= frame.length) return false;
        else accumulator = frame[operand] ?? 0;
        break;
      case 0x80:
        accumulator = frame.length;
        break;
      case 0x15:
        jump(accumulator === operand);
        break;
      case 0x35:
        jump(accumulator >= operand);
        break;
      case 0x06:
        return operand > 0;
      default:
        throw new Error(`no instruction ${code} at ${at}`);
    }
  }
  throw new Error('the program does not end');
}
