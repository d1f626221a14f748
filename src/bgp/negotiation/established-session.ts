import type { Address } from '../../net/address.ts';
import type { OpenMessage } from '../wire/open.ts';
import type { Negotiated } from './negotiate.ts';

/** An established session: the facts of a Peer Up. */
export interface EstablishedSession {
  readonly negotiated: Negotiated;
  readonly localAddress: Address | undefined;
  readonly remoteAddress: Address | undefined;
  /** 0 if they are not known. */
  readonly localPort: number;
  readonly remotePort: number;
  readonly opens: { readonly sent: OpenMessage | undefined; readonly received: OpenMessage | undefined };
}
