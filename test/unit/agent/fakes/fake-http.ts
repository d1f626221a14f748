import {
  ListenError,
  type AnswerHttp,
  type HttpAnswer,
  type HttpListener,
  type SocketAddress,
} from '../../../../src/system/http/http-listener.ts';

/** The ports of a host and their listeners. */
export class FakeHttp {
  /** "open 0.0.0.0:80", "close 0.0.0.0:80". */
  readonly log: string[] = [];
  /** Ports that another program uses, as text. */
  readonly taken = new Set<string>();
  /** Addresses that the host does not have. */
  readonly absent = new Set<string>();
  readonly #answers = new Map<string, AnswerHttp>();

  readonly listen = async ({ address, port }: SocketAddress, answer: AnswerHttp): Promise<HttpListener> => {
    const place = `${address}:${port}`;
    if (this.absent.has(place)) throw new ListenError('noAddress', 'the host has no such address');
    if (this.taken.has(place) || this.#answers.has(place)) throw new ListenError('taken', 'the port is in use');
    this.#answers.set(place, answer);
    this.log.push(`open ${place}`);
    return {
      port,
      close: async () => {
        // A socket becomes free only after the turn that closes it.
        await Promise.resolve();
        this.#answers.delete(place);
        this.log.push(`close ${place}`);
      },
    };
  };

  get open(): string[] {
    return [...this.#answers.keys()].toSorted();
  }

  /** Undefined: nothing listens there. */
  get(place: string, path = '/'): HttpAnswer | undefined {
    // The agent answers synchronously.
    return this.#answers.get(place)?.(path, new URLSearchParams()) as HttpAnswer | undefined;
  }
}
