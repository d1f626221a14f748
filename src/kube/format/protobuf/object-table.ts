import type { Message } from './message.ts';

/** What is read of the objects of one kind in protobuf. */
export interface ObjectTable {
  readonly kind: string;
  readonly message: Message;
}
