import type { Message } from './message.ts';

/** Fields to read of the objects of one kind in protobuf. */
export interface ObjectTable {
  readonly kind: string;
  readonly message: Message;
}
