import {
  ListenError,
  type AnswerHttp,
  type HttpAnswer,
  type HttpListener,
  type SocketAddress,
} from '../../../../src/system/http/http-listener.ts';

/** The ports of a host, and who listens on them. */
export class FakeHttp {
  /** "open 0.0.0.0:80", "close 0.0.0.0:80". */
  readonly log: string[] = [];
  /** Ports that another program has, by text. */
  readonly taken = new Set<string>();
  /** Places that the host has not. */
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
        // A socket is not free in the turn in which it is told to close.
        await Promise.resolve();
        this.#answers.delete(place);
        this.log.push(`close ${place}`);
      },
    };
  };

  get open(): string[] {
    return [...this.#answers.keys()].toSorted();
  }

  /** Undefined: nobody listens there. */
  get(place: string, path = '/'): HttpAnswer | undefined {
    // An agent has its answers at hand.
    return this.#answers.get(place)?.(path, new URLSearchParams()) as HttpAnswer | undefined;
  }
}
